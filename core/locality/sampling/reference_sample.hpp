#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/types.hpp"
#include "core/base/wraps.hpp"

namespace mcsim {

// A uniform random sample of the references of a stream, independent of spatial sampling of blocks.
// Two sampled references are to the same block with a probability that is the sum of the squares of
// the blocks' shares of all references. The sample therefore measures how uneven the blocks are,
// including those that a spatial sample lacks.
//
// The gap between kept references is very nearly exponential, so that no loop or run of references
// is systematically missed. When the sample is full, a random half is dropped and the mean gap
// doubles. One comparison a reference, O(1) for a kept one; no floating point and no allocation
// after construction.
class ReferenceSample {
 public:
  static constexpr std::size_t kRoom = 2560;
  // Weights are in sixteenths of a reference.
  static constexpr int kFractionBits = 4;

  explicit ReferenceSample(std::uint64_t seed);
  // A full sample: references of this weight, by the upper halves of the hashes of their blocks.
  ReferenceSample(const std::vector<std::uint32_t>& blocks, std::uint64_t weight);

  // The position in the stream, from 0, of the next reference to keep.
  std::uint64_t next() const { return next_; }
  // Keeps that reference, to the block with this hash. `weight` is its weight if it were sampled
  // spatially; 0 for a block that is counted fully.
  void keep(std::uint64_t hash, std::uint64_t weight);
  // Forgets all references.
  void clear();

  // The effect of spatial sampling on a stream.
  struct SamplingError {
    // Estimated references to each block that occurs often enough in this sample and was never in
    // the spatial sample at those times.
    std::vector<double> absent = {};
    double absent_variance = 0;  // of the sum of `absent`
    // The variance of the scaled number of spatially sampled references to all other blocks. Exact
    // if every reference was kept.
    double variance = 0;
  };
  // `accesses` is the length of the stream. Blocks with `known_from` or more kept references may be
  // reported in `absent`.
  SamplingError sampling_error(double accesses, std::size_t known_from) const;

  std::size_t bytes() const { return kRoom * sizeof(Kept); }

 private:
  struct Kept {
    std::uint32_t block;  // the upper half of its hash
    std::uint32_t weight;
    double variance() const;
    bool sampled() const;
  };

  void halve();
  std::uint64_t distance();
  std::uint64_t draw();  // only the upper bits are random enough

  std::uint64_t seed_;
  std::uint64_t random_;
  std::uint64_t next_ = 0;
  int doublings_ = 0;  // of the mean distance
  std::vector<Kept> kept_;
};

// References with the lowest priorities.
struct KeptReferences {
  std::uint64_t limit = ~std::uint64_t{0};  // the highest priority that is kept
  std::vector<std::uint64_t> priorities;
  std::vector<std::uint32_t> blocks;  // the upper halves of the hashes of their blocks

  friend bool operator==(const KeptReferences&, const KeptReferences&) = default;
};

// A uniform random sample of the references of a stream with times. A reference has a random
// priority, the hash of its time and of its position among the references of that time. The lowest
// priorities are kept, and the limit is halved when the sample is full. So the samples of pieces of
// a stream merge into that of the stream, if no time is in two pieces.
class TimedReferenceSample {
 public:
  explicit TimedReferenceSample(std::uint64_t seed) : salt_(mix64(seed)), next_(salt_) {}

  // Adds the next reference, to the block with the hash that `hash()` returns. Times never
  // decrease.
  template <class Hash>
  MCSIM_WRAPS void add(Nanoseconds time, Hash&& hash) {
    if (time != time_) {
      time_ = time;
      next_ = static_cast<std::uint64_t>(time) * kTimeFactor + salt_;
    }
    const std::uint64_t priority = mix64(next_++);
    if (priority <= kept_.limit) keep(priority, static_cast<std::uint32_t>(hash() >> 32));
  }
  // Adds the references of another piece.
  void merge(const KeptReferences& piece);

  const KeptReferences& kept() const { return kept_; }
  std::size_t bytes() const {
    return ReferenceSample::kRoom * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  }

 private:
  // Odd, so that the references of one time have numbers far from those of another.
  static constexpr std::uint64_t kTimeFactor = 0xd1342543de82ef95ULL;

  void keep(std::uint64_t priority, std::uint32_t block);
  void lower_limit(std::uint64_t limit);

  std::uint64_t salt_;
  std::uint64_t next_;
  Nanoseconds time_ = 0;
  KeptReferences kept_;
};

}  // namespace mcsim
