#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "policies/replay/simulate.hpp"

// Miniature simulation (Waldspurger, Saemundsson, Ahmad, Park: Cache modeling and
// optimization using miniature simulations, USENIX ATC 2017): a cache of c blocks under
// any policy hits about as often as one of R c blocks that is given the references to a
// share R of the blocks, picked by their hash.
namespace mcsim {

struct MiniatureOptions {
  double rate = 0.01;  // share of the blocks that is sampled, in (0, 1]
  // Smaller miniatures are too coarse: below, the rate of a cache is doubled until it
  // has so many.
  Count min_blocks = 100;
  // Of the hashes: each picks other blocks, and all caches are simulated with each.
  std::span<const std::uint64_t> seeds = {};
  SimulateOptions simulate = {};
};

// The rate at which a cache is simulated: doubling from one rate to the next lets the
// caches share samples. It is 1 where the samples of all seeds together would be as long
// as the trace.
double miniature_rate(Count capacity, const MiniatureOptions& options);

struct Miniature {
  double rate = 1;     // share of all hashes that is sampled
  Count capacity = 0;  // of the miniature, in blocks
  // Of the miniature: its accesses are those sampled, its bytes and seconds its own.
  SimulatedCache cache;
};

// Every cache in miniature with the first seed, then with the next, and so on. Caches
// with the same seed and rate share the sampled references, of which those of one seed
// are in memory at a time. Those at rate 1 are simulated once: no seed changes them.
// `ops` may be empty: all are reads. Fails as simulate() does.
absl::StatusOr<std::vector<Miniature>> miniatures(std::span<const BlockId> blocks,
                                                  std::span<const std::uint8_t> ops,
                                                  std::size_t unique,
                                                  std::span<const CacheConfig> configs,
                                                  const MiniatureOptions& options);

}  // namespace mcsim
