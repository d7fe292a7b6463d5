#include "policies/registry/weighing.hpp"

#include "policies/eviction/belady_size.hpp"
#include "policies/eviction/clock.hpp"
#include "policies/eviction/fifo.hpp"
#include "policies/eviction/gdsf.hpp"
#include "policies/eviction/lfu.hpp"
#include "policies/eviction/lfu_da.hpp"
#include "policies/eviction/lru.hpp"
#include "policies/eviction/random.hpp"
#include "policies/eviction/s3_fifo.hpp"
#include "policies/eviction/sieve.hpp"
#include "policies/eviction/slru.hpp"
#include "policies/eviction/two_q.hpp"

namespace mcsim {
namespace {

template <class... Ps>
EvictionRegistry registry_of(TypeList<Ps...>) {
  return {"eviction policy for capacities in bytes", TypeList<PolicyCacheOf<Ps, ByteWeights>...>{}};
}

}  // namespace

const EvictionRegistry& weighing_registry() {
  static const EvictionRegistry made =
      registry_of(TypeList<Lru, Fifo, Clock, Sieve, RandomEviction, Lfu, Slru, TwoQ, S3Fifo, LfuDa,
                           GdsfOfSizes, BeladySize>{});
  return made;
}

}  // namespace mcsim
