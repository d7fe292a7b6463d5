#pragma once

#include <memory>

#include "core/base/component_spec.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Makes the cache, whose slots are in a table of its own; fails if its policy must know
// the future, which a sample or a share of the trace does not have.
absl::StatusOr<std::unique_ptr<TierCache>> make_wrapped(const ComponentSpec& spec,
                                                        const PolicySetup& setup);

// Says in the column of a cache that has its slots elsewhere that it may have every block,
// so that it is always asked: of what it does not hold it learns too.
void claim_column(const PolicySetup& setup);

}  // namespace mcsim
