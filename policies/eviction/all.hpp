#pragma once

#include "core/base/registry.hpp"
#include "core/engine/policy_cache.hpp"
#include "policies/eviction/car.hpp"
#include "policies/eviction/clock.hpp"
#include "policies/eviction/clock_pro.hpp"
#include "policies/eviction/fifo.hpp"
#include "policies/eviction/lirs.hpp"
#include "policies/eviction/lru.hpp"
#include "policies/eviction/sieve.hpp"

namespace mcsim {

// The one list of eviction policies. The registry, the command line, Python, the
// conformance tests and the benchmarks follow from it.
using AllEvictionPolicies = TypeList<Lru, Fifo, Clock, Sieve, Car, Lirs, ClockPro>;

}  // namespace mcsim
