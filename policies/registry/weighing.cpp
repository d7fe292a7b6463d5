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
#include "policies/registry/entries.hpp"

namespace mcsim {

const EvictionRegistry& weighing_registry() {
  using Policies = TypeList<Lru, Fifo, Clock, Sieve, RandomEviction, Lfu, Slru, TwoQ, S3Fifo, LfuDa,
                            GdsfOfSizes, BeladySize>;
  static const EvictionRegistry made =
      EvictionRegistry("eviction policy for capacities in bytes", TypeList<>{})
          .with(entries_of<ByteWeights>(Policies{}))
          .value()
          .with(adaptive_weighing_policies())
          .value()
          .with(deployed_weighing_policies())
          .value();
  return made;
}

}  // namespace mcsim
