#pragma once

#include "core/base/registry.hpp"
#include "policies/wrappers/bent_cache.hpp"
#include "policies/wrappers/switching.hpp"

namespace mcsim {

// The one list of policies that are made of others, which their parameters name.
using AllPolicyWrappers = TypeList<Talus, Slide, Switching>;

}  // namespace mcsim
