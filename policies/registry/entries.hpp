#pragma once

#include <vector>

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Return the registry entries of a list of policies. The loops of each policy take about two
// seconds to compile, so every list has a source file of its own and is limited.
template <class Weights = EqualWeights, class... Ps>
std::vector<EvictionRegistry::EntryType> entries_of(TypeList<Ps...>) {
  static_assert(sizeof...(Ps) <= 16, "divide the list: one source file would compile too long");
  return EvictionRegistry("", TypeList<PolicyCacheOf<Ps, Weights>...>{}).entries();
}

}  // namespace mcsim
