#include "policies/eviction/arc.hpp"
#include "policies/eviction/cacheus.hpp"
#include "policies/eviction/hyperbolic.hpp"
#include "policies/eviction/lecar.hpp"
#include "policies/eviction/lirs.hpp"
#include "policies/eviction/lru_k.hpp"
#include "policies/eviction/w_tinylfu.hpp"
#include "policies/registry/entries.hpp"
#include "policies/registry/weighing.hpp"

namespace mcsim {

std::vector<EvictionRegistry::EntryType> adaptive_weighing_policies() {
  return entries_of<ByteWeights>(TypeList<Arc, LruK, Hyperbolic, WTinyLfu, Lirs, LeCar, Cacheus>{});
}

}  // namespace mcsim
