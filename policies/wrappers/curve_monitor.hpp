#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "policies/wrappers/curve_bending.hpp"
#include "policies/wrappers/wrapped.hpp"

// Monitors of the miss curve of a running cache, from a sample of its blocks.
namespace mcsim {

// Samples the references to a share of the blocks below `unique` and renumbers them. Four bytes per
// block of the trace.
class OnlineSample {
 public:
  // Maximum number of references per call of pick().
  static constexpr std::size_t kPiece = std::size_t{1} << 14;

  OnlineSample(std::size_t unique, double rate, std::uint64_t seed);

  double rate() const { return filter_.rate(); }
  // Return the number of sampled block numbers.
  std::size_t unique() const { return unique_; }
  // Return the sampled references among at most kPiece blocks; valid until the next call.
  std::span<const BlockId> pick(std::span<const BlockId> blocks);
  // Return the new number of one block; kNoBlock if it is not sampled.
  BlockId pick(BlockId block) const { return filter_.samples(block) ? number_[block] : kNoBlock; }
  std::size_t bytes() const { return number_.bytes() + picked_.size() * sizeof(BlockId); }

 private:
  SpatialFilter filter_;
  std::size_t unique_ = 0;
  Pages<BlockId> number_;  // new numbers of sampled blocks
  std::vector<BlockId> picked_;
};

// Replay a batch in pieces that end at the ends of epochs: `left()` returns the accesses left in
// the epoch, `replay(piece)` replays them.
template <class Left, class Replay>
absl::Status replay_in_pieces(const AccessBatch<>& batch, Left left, Replay replay) {
  MCSIM_RETURN_IF_ERROR(batch.check());
  for (std::size_t begin = 0; begin < batch.blocks.size();) {
    const AccessBatch<> piece = batch.part(begin, std::min(OnlineSample::kPiece, left()));
    begin += piece.blocks.size();
    MCSIM_RETURN_IF_ERROR(replay(piece));
  }
  return absl::OkStatus();
}

// The operations of a host on a cache, for one block. Lookups, by a touch or to take the block
// away, are references; insertions are not. A discard removes the block without a reference.
enum class TierStep : std::uint8_t { kTouch, kTake, kInsert, kDiscard };

// Return whether an operation is a reference to the block.
constexpr bool is_reference(TierStep step) {
  return step == TierStep::kTouch || step == TierStep::kTake;
}

// A miniature cache and its hits.
class MiniatureCache {
 public:
  explicit MiniatureCache(std::unique_ptr<TierCache> cache) : cache_(std::move(cache)) {}

  absl::Status replay(std::span<const BlockId> blocks) {
    return cache_->replay({.blocks = blocks});
  }
  // Repeat an operation of the full cache, whether that holds the block or not.
  void follow(TierStep step, const Access<>& a);

  // Return the hits since the last call.
  Count next_hits() { return hits() - std::exchange(before_, hits()); }
  TierCache& cache() { return *cache_; }
  const TierCache& cache() const { return *cache_; }

 private:
  Count hits() const { return cache_->counts().hits + found_; }

  std::unique_ptr<TierCache> cache_;
  Count found_ = 0;
  Count before_ = 0;
  std::vector<BlockId> victims_;
};

// Computes a miss curve for every epoch, from caches that keep their contents across epochs.
class CurveMonitor {
 public:
  virtual ~CurveMonitor() = default;
  virtual absl::Status process(std::span<const BlockId> blocks) = 0;
  // Process one operation in a host, instead of process().
  virtual void follow(TierStep step, const Access<>& a) = 0;
  // Return the first error of its caches.
  virtual absl::Status failure() const { return absl::OkStatus(); }
  // Return the curve of the references since the last call, starting at 0 blocks; empty without
  // references.
  virtual std::vector<CurvePoint> next_curve() = 0;
  // Adapt to a new capacity of the monitored cache.
  virtual void resize(Count capacity) = 0;
  // Return the maximum memory.
  virtual std::size_t bytes() const = 0;
};

// Create a monitor of LRU's curve at all capacities, from reuse distances.
std::unique_ptr<CurveMonitor> lru_monitor(std::size_t unique, double rate, std::uint64_t seed);

// Create a monitor for any policy. Its miniature caches represent capacities from 1/8 to 8 times
// the capacity, three for each factor of two.
absl::StatusOr<std::unique_ptr<CurveMonitor>> miniature_monitor(const ComponentSpec& spec,
                                                                const PolicySetup& setup,
                                                                double rate, std::uint64_t seed);

}  // namespace mcsim
