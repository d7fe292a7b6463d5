#pragma once

#include "core/base/registry.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "policies/eviction/arc.hpp"
#include "policies/eviction/cacheus.hpp"
#include "policies/eviction/car.hpp"
#include "policies/eviction/clock.hpp"
#include "policies/eviction/clock2q_plus.hpp"
#include "policies/eviction/clock_pair.hpp"
#include "policies/eviction/clock_pro.hpp"
#include "policies/eviction/fifo.hpp"
#include "policies/eviction/gclock.hpp"
#include "policies/eviction/gdsf.hpp"
#include "policies/eviction/generations.hpp"
#include "policies/eviction/hyperbolic.hpp"
#include "policies/eviction/larc.hpp"
#include "policies/eviction/lecar.hpp"
#include "policies/eviction/lfu.hpp"
#include "policies/eviction/lfu_da.hpp"
#include "policies/eviction/lhd.hpp"
#include "policies/eviction/lirs.hpp"
#include "policies/eviction/lirs2.hpp"
#include "policies/eviction/lru.hpp"
#include "policies/eviction/lru2q.hpp"
#include "policies/eviction/lru_k.hpp"
#include "policies/eviction/midpoint.hpp"
#include "policies/eviction/mq.hpp"
#include "policies/eviction/mru.hpp"
#include "policies/eviction/opt.hpp"
#include "policies/eviction/perfect_lfu.hpp"
#include "policies/eviction/qd_lp_fifo.hpp"
#include "policies/eviction/random.hpp"
#include "policies/eviction/s3_fifo.hpp"
#include "policies/eviction/s4_fifo.hpp"
#include "policies/eviction/s4lru.hpp"
#include "policies/eviction/sampled.hpp"
#include "policies/eviction/sieve.hpp"
#include "policies/eviction/slru.hpp"
#include "policies/eviction/tinylfu.hpp"
#include "policies/eviction/two_pool_lru.hpp"
#include "policies/eviction/two_q.hpp"
#include "policies/eviction/w_tinylfu.hpp"

namespace mcsim {

// Eviction policies of publications that keep blocks in queues, stacks and clocks.
using QueuePolicies = TypeList<Lru, Fifo, Clock, Sieve, Mru, Slru, TwoQ, S3Fifo, Arc, Car, Lirs,
                               Lirs2, ClockPro, S4Lru, Larc>;

// Eviction policies of publications that count, rank, learn or draw.
using RankingPolicies = TypeList<RandomEviction, Lfu, PerfectLfu, Opt, WTinyLfu, LfuDa, Gdsf, LruK,
                                 Mq, Hyperbolic, LeCar, Cacheus>;

// Eviction policies of programs and libraries in use.
using DeployedPolicies = TypeList<GClock, Clock2QPlus, Generations, TwoPoolLru, TinyLfu, ClockPair,
                                  S4Fifo, QdLpFifo, SampledLru, SampledLfu, Lru2Q, Midpoint, Lhd>;

template <class... Ps, class... Qs, class... Rs>
TypeList<Ps..., Qs..., Rs...> joined(TypeList<Ps...>, TypeList<Qs...>, TypeList<Rs...>);

// All eviction policies. The registry, the command line, Python, the conformance tests and the
// benchmarks use this list. policies/registry/eviction_*.cpp compile its parts.
using AllEvictionPolicies =
    decltype(joined(QueuePolicies{}, RankingPolicies{}, DeployedPolicies{}));

}  // namespace mcsim
