#pragma once

#include "core/base/registry.hpp"
#include "core/engine/policy_cache.hpp"

namespace mcsim {

// Makes a cache under the policy of a name.
const Registry<PolicyCache, PolicySetup>& eviction_registry();

}  // namespace mcsim
