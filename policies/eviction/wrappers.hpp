#pragma once

#include "core/base/registry.hpp"
#include "policies/eviction/bent_cache.hpp"
#include "policies/eviction/switching.hpp"

namespace mcsim {

// The one list of policies that are made of others, which their parameters name.
using AllPolicyWrappers = TypeList<Talus, Slide, Switching>;

}  // namespace mcsim
