#pragma once

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Return the registry of eviction policies for objects of different sizes; the capacities of their
// caches are in bytes. Their names are those of policies for blocks, with the same parameters.
const EvictionRegistry& weighing_registry();

}  // namespace mcsim
