#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy_cache.hpp"
#include "core/locality/profile.hpp"

// Many caches, each alone, from one trace that they share.
namespace mcsim {

struct CacheConfig {
  std::string policy;
  ParamMap params;
  Count capacity = 1;  // blocks, at least 1
  std::uint64_t seed = 1;
};

struct SimulatedCache {
  CacheCounts counts;
  std::size_t bytes = 0;  // of the cache's state
  double seconds = 0;     // CPU time of the replay
};

struct SimulateOptions {
  int threads = 1;
  Tick tick = nullptr;  // told of accesses done, those of all caches together
};

// Replays the trace through one cache after the other, so many at a time as there are
// threads; all blocks are below `unique`. `ops` may be empty: all are reads. What
// comes out does not depend on the number of threads. Fails before the replay if a
// policy, parameter, capacity or block is wrong, and after it if a cache broke a law.
absl::StatusOr<std::vector<SimulatedCache>> simulate(std::span<const BlockId> blocks,
                                                     std::span<const std::uint8_t> ops,
                                                     std::size_t unique,
                                                     std::span<const CacheConfig> configs,
                                                     const SimulateOptions& options = {});

}  // namespace mcsim
