#pragma once

#include <memory>

#include "core/base/component_spec.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy_cache.hpp"

namespace mcsim {

// Makes the cache; fails if its policy must know the future, which a sample or a share
// of the trace does not have.
absl::StatusOr<std::unique_ptr<PolicyCache>> make_wrapped(const ComponentSpec& spec,
                                                          const PolicySetup& setup);

}  // namespace mcsim
