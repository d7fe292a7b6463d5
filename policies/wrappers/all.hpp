#pragma once

#include "core/base/registry.hpp"
#include "policies/wrappers/bent_cache.hpp"
#include "policies/wrappers/shards.hpp"
#include "policies/wrappers/switching.hpp"

namespace mcsim {

// All policies that wrap other policies, which their parameters name.
using AllPolicyWrappers = TypeList<Talus, Slide, Switching, ShardedCache>;

}  // namespace mcsim
