#include "policies/eviction/lhd.hpp"
#include "policies/eviction/qd_lp_fifo.hpp"
#include "policies/eviction/sampled.hpp"
#include "policies/registry/entries.hpp"
#include "policies/registry/weighing.hpp"

namespace mcsim {

std::vector<EvictionRegistry::EntryType> deployed_weighing_policies() {
  return entries_of<ByteWeights>(TypeList<QdLpFifo, SampledLru, SampledLfu, Lhd>{});
}

}  // namespace mcsim
