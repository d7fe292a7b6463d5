#pragma once

#include <memory>

#include "core/base/component_spec.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Create the cache with its own slot table. Fails if its policy needs the future, which is not
// available for a sample or a share of the trace.
absl::StatusOr<std::unique_ptr<TierCache>> make_wrapped(const ComponentSpec& spec,
                                                        const PolicySetup& setup);

// Mark all blocks as possibly present in the slot table column of a wrapper, whose slots are
// elsewhere. The host then looks up every block in it, so that its monitor sees misses too.
void claim_column(const PolicySetup& setup);

}  // namespace mcsim
