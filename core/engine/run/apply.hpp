#pragma once

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/model/actions.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// Apply a whole decision to the host, or change nothing. Fails if the decision contains actions
// that its system did not declare, or placements and other actions. Also fails if a list's length
// differs from the VMs or tiers of `current`, the targets in force.
absl::Status apply(const Decision& decision, Actions declared, const Allocation& current,
                   Nanoseconds now, Host& host);

}  // namespace mcsim
