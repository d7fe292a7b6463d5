#pragma once

#include <vector>

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Return the registry of eviction policies for objects of different sizes; the capacities of their
// caches are in bytes. Their names are those of policies for blocks, with the same parameters.
const EvictionRegistry& weighing_registry();

// Return its members that are compiled on their own, for shorter compilations: policies that rank
// objects or learn, and those of programs in use.
std::vector<EvictionRegistry::EntryType> adaptive_weighing_policies();
std::vector<EvictionRegistry::EntryType> deployed_weighing_policies();

}  // namespace mcsim
