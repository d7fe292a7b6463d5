#include "policies/eviction/arc.hpp"
#include "policies/eviction/cacheus.hpp"
#include "policies/eviction/hyperbolic.hpp"
#include "policies/eviction/lecar.hpp"
#include "policies/eviction/lirs.hpp"
#include "policies/eviction/lru_k.hpp"
#include "policies/eviction/w_tinylfu.hpp"
#include "policies/registry/weighing.hpp"

namespace mcsim {
namespace {

template <class... Ps>
std::vector<EvictionRegistry::EntryType> entries_of(TypeList<Ps...>) {
  return EvictionRegistry("", TypeList<PolicyCacheOf<Ps, ByteWeights>...>{}).entries();
}

}  // namespace

std::vector<EvictionRegistry::EntryType> adaptive_weighing_policies() {
  return entries_of(TypeList<Arc, LruK, Hyperbolic, WTinyLfu, Lirs, LeCar, Cacheus>{});
}

}  // namespace mcsim
