#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "policies/replay/simulate.hpp"

// Miniature simulation (Waldspurger, Saemundsson, Ahmad, Park: Cache modeling and optimization
// using miniature simulations, USENIX ATC 2017): a cache of c blocks has about the hit ratio of a
// cache of R c blocks that receives only the references to a share R of the blocks, sampled by
// hash.
namespace mcsim {

struct MiniatureOptions {
  double rate = 0.01;  // share of the blocks that is sampled, in (0, 1]
  // Minimum size of a miniature, in blocks or bytes as capacities; the sampling rate of a smaller
  // one is doubled until it has this size.
  Count min_blocks = 100;
  // Seeds of the hash. Each samples other blocks, and all caches are simulated with each seed.
  std::span<const std::uint64_t> seeds = {};
  SimulateOptions simulate = {};
};

// Return the sampling rate of a cache. All rates are `rate` times a power of two, so that caches
// share samples. The rate is 1 if the samples of all seeds together would be as long as the trace.
double miniature_rate(Count capacity, const MiniatureOptions& options);

struct Miniature {
  double rate = 1;     // sampling rate
  Count capacity = 0;  // of the miniature cache
  // Counts of the miniature cache: sampled accesses, its own memory and CPU time.
  SimulatedCache cache;
};

// Simulate every cache in miniature with the first seed, then with the next, and so on. Caches with
// equal seed and rate share the sampled references; the samples of one seed at a time are in
// memory. Caches at rate 1 do not depend on the seed and are simulated once. If `ops` is empty, all
// accesses are reads. Fails as simulate() does.
absl::StatusOr<std::vector<Miniature>> miniatures(std::span<const BlockId> blocks,
                                                  std::span<const std::uint8_t> ops,
                                                  std::size_t unique,
                                                  std::span<const CacheConfig> configs,
                                                  const MiniatureOptions& options);

}  // namespace mcsim
