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

// What a cache learns of its stream while it runs, from a sample of the blocks.
namespace mcsim {

// The references to a share of the blocks below `unique`, numbered anew. Four bytes a
// block of the trace.
class OnlineSample {
 public:
  // At most so many at a time.
  static constexpr std::size_t kPiece = std::size_t{1} << 14;

  OnlineSample(std::size_t unique, double rate, std::uint64_t seed);

  double rate() const { return filter_.rate(); }
  // Blocks that may be picked.
  std::size_t unique() const { return unique_; }
  // Of at most kPiece blocks; valid until the next call.
  std::span<const BlockId> pick(std::span<const BlockId> blocks);
  // Of one block; kNoBlock if it is not picked.
  BlockId pick(BlockId block) const { return filter_.samples(block) ? number_[block] : kNoBlock; }
  std::size_t bytes() const { return number_.bytes() + picked_.size() * sizeof(BlockId); }

 private:
  SpatialFilter filter_;
  std::size_t unique_ = 0;
  Pages<BlockId> number_;  // of the blocks that are picked
  std::vector<BlockId> picked_;
};

// Replays a batch in pieces that end where epochs do: `left()` tells how many accesses are left
// of this one, `replay(piece)` does the work.
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

// What a cache is asked in a host, one block at a time. It is looked for, by a touch or to
// be taken away, and that is a reference to it; and it comes in, for whatever reason.
// A discard removes it without a reference.
enum class TierStep : std::uint8_t { kTouch, kTake, kInsert, kDiscard };

// Whether a step is a reference to the block.
constexpr bool is_reference(TierStep step) {
  return step == TierStep::kTouch || step == TierStep::kTake;
}

// A cache in miniature, and what it had of what it was asked for.
class MiniatureCache {
 public:
  explicit MiniatureCache(std::unique_ptr<TierCache> cache) : cache_(std::move(cache)) {}

  absl::Status replay(std::span<const BlockId> blocks) {
    return cache_->replay({.blocks = blocks});
  }
  // What the cache that it stands for does, whether that holds the block or not.
  void follow(TierStep step, const Access<>& a);

  // Since the last call.
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

// Makes a miss curve of every epoch, from caches that go on through all of them.
class CurveMonitor {
 public:
  virtual ~CurveMonitor() = default;
  virtual absl::Status process(std::span<const BlockId> blocks) = 0;
  // In place of that, in a host.
  virtual void follow(TierStep step, const Access<>& a) = 0;
  // Of what it follows with.
  virtual absl::Status failure() const { return absl::OkStatus(); }
  // Of the references since the last call, beginning at no blocks; empty if there were
  // none.
  virtual std::vector<CurvePoint> next_curve() = 0;
  // The cache that it is for has another capacity.
  virtual void resize(Count capacity) = 0;
  // What it may come to hold.
  virtual std::size_t bytes() const = 0;
};

// LRU's curve, at every capacity, from reuse distances.
std::unique_ptr<CurveMonitor> lru_monitor(std::size_t unique, double rate, std::uint64_t seed);

// Any policy's, from caches in miniature, which stand for an eighth of the capacity up to
// eight times it, three for each factor of two.
absl::StatusOr<std::unique_ptr<CurveMonitor>> miniature_monitor(const ComponentSpec& spec,
                                                                const PolicySetup& setup,
                                                                double rate, std::uint64_t seed);

}  // namespace mcsim
