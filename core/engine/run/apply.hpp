#pragma once

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/run/actions.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// Applies a whole decision to the host, or changes nothing. Fails if the decision changes what its
// system did not declare, or if a list has another length than the VMs or tiers of `current`, the
// targets in force.
absl::Status apply(const Decision& decision, Actions declared, const Allocation& current,
                   Nanoseconds now, Host& host);

}  // namespace mcsim
