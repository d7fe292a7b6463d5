#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/policy_cache.hpp"
#include "core/locality/exact_distances.hpp"
#include "core/locality/sample_filter.hpp"
#include "policies/eviction/curve_bending.hpp"
#include "policies/eviction/wrapped.hpp"

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
  std::size_t bytes() const { return number_.bytes() + picked_.size() * sizeof(BlockId); }

 private:
  SpatialFilter filter_;
  std::size_t unique_ = 0;
  Pages<BlockId> number_;  // of the blocks that are picked
  std::vector<BlockId> picked_;
};

// Makes a miss curve of every epoch, from caches that go on through all of them.
class CurveMonitor {
 public:
  virtual ~CurveMonitor() = default;
  virtual absl::Status process(std::span<const BlockId> blocks) = 0;
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
