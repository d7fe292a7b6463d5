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

// Simulation of many independent caches on one shared trace.
namespace mcsim {

struct CacheConfig {
  std::string policy;
  ParamMap params;
  Count capacity = 1;  // blocks, at least 1
  std::uint64_t seed = 1;
  // Factory used instead of the registry, for policies that are not in it.
  std::function<absl::StatusOr<std::unique_ptr<TierCache>>(const PolicySetup&)> make = nullptr;
};

struct SimulatedCache {
  CacheCounts counts;
  RequestHits requests = {};
  std::size_t bytes = 0;  // memory of the cache's state, or of its one-pass run
  double seconds = 0;     // CPU time of the replay, or its share of the one-pass run
};

struct SimulateOptions {
  int threads = 1;
  Tick tick = nullptr;  // receives the number of accesses done, over all caches
  // Maximum memory of all running caches in bytes, without the trace.
  std::size_t memory = JobQueue::kNoLimit;
  // Whether to compute several sizes of a stack algorithm in one pass over the trace
  // (all_sizes.hpp) if that is faster than replays and fits into memory.
  bool one_pass = true;
  // Blocks per line. If it is not 1, all caches are sub-block caches (sub_blocks.hpp) of the lines
  // that fit into their capacities.
  std::uint32_t line_blocks = 1;
  // Number of warm-up accesses at the start, which are replayed without being counted or timed. A
  // warm-up excludes one-pass runs.
  std::size_t warm_up = 0;
  // Blocks that are discarded from all caches, in the order of accesses. Discards exclude one-pass
  // runs.
  std::span<const DiscardedBlock> discards = {};
  // The time of every access, in order; only for policies that read it.
  std::span<const Nanoseconds> times = {};
  // The bytes of the object of each access, at least 1. If there are any, capacities are in bytes,
  // and policies are those of weighing_registry(). They exclude one-pass runs and lines.
  std::span<const std::uint32_t> weights = {};
  // Without columns, every access is a request without bytes. Requests that start in the warm-up
  // are not counted.
  RequestColumns requests = {};
};

// A trace shared by caches. All blocks are below `unique`; `next_uses` is set if a cache needs it.
struct SharedTrace {
  AccessBatch<> accesses;
  std::size_t unique = 0;
  std::uint32_t line_blocks = 1;
  std::span<const DiscardedBlock> discards = {};
};

// Replay the trace through all caches, one cache per thread at a time. All blocks are below
// `unique`. If `ops` is empty, all accesses are reads. Results do not depend on the number of
// threads. Fails before the replay if a policy, parameter, capacity or block is invalid or a cache
// exceeds the memory limit, and after it if a cache violated an invariant.
absl::StatusOr<std::vector<SimulatedCache>> simulate(std::span<const BlockId> blocks,
                                                     std::span<const std::uint8_t> ops,
                                                     std::size_t unique,
                                                     std::span<const CacheConfig> configs,
                                                     const SimulateOptions& options = {});

// Return the memory that simulate() will need for every cache, and for all caches of a one-pass run
// together. It is exact for replays and an upper bound for one-pass runs.
absl::StatusOr<std::vector<std::size_t>> memory_needed(std::span<const BlockId> blocks,
                                                       std::size_t unique,
                                                       std::span<const CacheConfig> configs,
                                                       const SimulateOptions& options = {});

// Return whether a cache needs the next use of every access. Fails if a policy, parameter or
// capacity is invalid. `weighs`: capacities are in bytes.
absl::StatusOr<bool> check_configs(std::span<const CacheConfig> configs, bool weighs = false);

// Check that there is a weight for every access, or none.
absl::Status check_weights(const SimulateOptions& options, std::size_t accesses);
// Check that there is a time for every access, in order, if a cache reads it.
absl::Status check_times(std::span<const CacheConfig> configs, std::span<const Nanoseconds> times,
                         std::size_t accesses, bool weighs = false);
// Check that all blocks are below `unique`.
absl::Status check_blocks(std::span<const BlockId> blocks, std::size_t unique);
// Check that discards are in order, have blocks below `unique`, and have positions up to
// `accesses`.
absl::Status check_discards(std::span<const DiscardedBlock> discards, std::size_t accesses,
                            std::size_t unique);

// Simulate each of `configs`, which must be valid, on the trace with the same index.
absl::StatusOr<std::vector<SimulatedCache>> simulate_each(
    std::span<const SharedTrace* const> traces, std::span<const CacheConfig> configs,
    const SimulateOptions& options);

}  // namespace mcsim
