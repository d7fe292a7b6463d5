#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/engine/policy/next_use.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "policies/replay/job_queue.hpp"
#include "policies/replay/request_hits.hpp"

// Many caches, each alone, from one trace that they share.
namespace mcsim {

struct CacheConfig {
  std::string policy;
  ParamMap params;
  Count capacity = 1;  // blocks, at least 1
  std::uint64_t seed = 1;
  // In place of the registry, for policies that it does not have.
  std::function<absl::StatusOr<std::unique_ptr<TierCache>>(const PolicySetup&)> make = nullptr;
};

struct SimulatedCache {
  CacheCounts counts;
  RequestHits requests = {};
  std::size_t bytes = 0;  // of the cache's state, or of the pass that it came from
  double seconds = 0;     // CPU time of the replay, or its share of the pass
};

struct SimulateOptions {
  int threads = 1;
  Tick tick = nullptr;  // told of accesses done, those of all caches together
  // That the caches at work may hold together, in bytes; the trace is not counted.
  std::size_t memory = JobQueue::kNoLimit;
  // Several sizes of one stack algorithm from one pass over the trace (all_sizes.hpp),
  // not by a replay each, where that is faster and fits in memory.
  bool one_pass = true;
  // Blocks of a line: if not 1, all are sub-block caches (sub_blocks.hpp), of the lines
  // that fit in their capacities.
  std::uint32_t line_blocks = 1;
  // So many accesses come first that fill the caches and are neither counted nor timed.
  // There is no one pass then.
  std::size_t warm_up = 0;
  // Blocks that leave all caches, in the order of accesses. There is no one pass then.
  std::span<const DiscardedBlock> discards = {};
  // None: every access is a request, without bytes. Requests that begin in the warm-up are not
  // counted.
  RequestColumns requests = {};
};

// A trace that caches share. All blocks are below `unique`; `next_uses` are there if
// any of the caches needs them.
struct SharedTrace {
  AccessBatch<> accesses;
  std::size_t unique = 0;
  std::uint32_t line_blocks = 1;
  std::span<const DiscardedBlock> discards = {};
};

// Replays the trace through one cache after the other, so many at a time as there are
// threads; all blocks are below `unique`. `ops` may be empty: all are reads. What
// comes out does not depend on the number of threads. Fails before the replay if a
// policy, parameter, capacity or block is wrong or a cache needs more memory than
// there may be, and after it if a cache broke a law.
absl::StatusOr<std::vector<SimulatedCache>> simulate(std::span<const BlockId> blocks,
                                                     std::span<const std::uint8_t> ops,
                                                     std::size_t unique,
                                                     std::span<const CacheConfig> configs,
                                                     const SimulateOptions& options = {});

// What simulate() will hold for every cache, and for all of those that one pass counts
// together; exact but for passes, which hold no more.
absl::StatusOr<std::vector<std::size_t>> memory_needed(std::span<const BlockId> blocks,
                                                       std::size_t unique,
                                                       std::span<const CacheConfig> configs,
                                                       const SimulateOptions& options = {});

// Whether any of the caches needs the next use of every access. Fails if a policy,
// parameter or capacity is wrong.
absl::StatusOr<bool> check_configs(std::span<const CacheConfig> configs);

// Fails unless all blocks are below `unique`.
absl::Status check_blocks(std::span<const BlockId> blocks, std::size_t unique);
// Fails unless discards are in order, of blocks below `unique`, before `accesses` or earlier.
absl::Status check_discards(std::span<const DiscardedBlock> discards, std::size_t accesses,
                            std::size_t unique);

// As above: a cache for each of `configs`, which were checked, over the trace at the
// same place.
absl::StatusOr<std::vector<SimulatedCache>> simulate_each(
    std::span<const SharedTrace* const> traces, std::span<const CacheConfig> configs,
    const SimulateOptions& options);

}  // namespace mcsim
