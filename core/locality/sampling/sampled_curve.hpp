#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/containers/log_linear_bins.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/sampling/reference_sample.hpp"

// From what was counted on a spatial sample to a curve of the whole stream, and
// how far that may be off.
namespace mcsim {

// All larger capacities count as this one.
inline constexpr std::uint64_t kMostCapacity = (std::uint64_t{1} << 40) - 1;

// What to do about references that the sample has too few or too many of: the
// stream's length is known, so the sample's error in that is known as well.
enum class Correction : std::uint8_t {
  kAuto,        // between the other two, by what the sample's own parts say
  kNone,        // spread them like the others: ratios of the sample
  kAdjusted,    // take them for hits at any capacity (SHARDS_adj)
  kRegression,  // by the regression below, however uneven the blocks are
};

template <>
struct Choices<Correction> {
  static constexpr std::array names{
      std::pair{"auto", Correction::kAuto}, std::pair{"none", Correction::kNone},
      std::pair{"adj", Correction::kAdjusted}, std::pair{"regression", Correction::kRegression}};
};

// The sampled references once more, coarsely, for each of some random parts of
// the sampled blocks. Sampling picks blocks, not references, so what one block
// has in all is what varies: the parts, being samples themselves, show how much.
//
// A reference sampled at the rate R counts for 1 / R, but varies by the root of
// (1 - R) / R^2, its spread: that is what it weighs here, so that what was counted
// before the rate fell, when most blocks were sampled, is taken for as sure as it is.
// Integers only; 43 KB.
class SampleGroups {
 public:
  static constexpr std::size_t kGroups = 32;
  static constexpr LogLinearBins kBins{2};
  static constexpr std::size_t kBinCount = kBins.index(kMostCapacity) + 1;

  SampleGroups() : groups_(kGroups) {}

  void clear() { std::fill(groups_.begin(), groups_.end(), Group{}); }
  std::size_t bytes() const { return groups_.size() * sizeof(Group); }

  // A reference, of some spread, to the block with that hash: one that hits from
  // `capacity` on, or one that never does.
  void add_hit(std::uint64_t hash, std::uint64_t capacity, std::uint64_t spread) {
    Group& group = group_of(hash);
    group.hits[kBins.index(std::min(capacity, kMostCapacity))] += spread;
    group.references += spread;
  }
  void add_cold(std::uint64_t hash, std::uint64_t spread) { group_of(hash).references += spread; }

  struct Group {
    std::array<std::uint64_t, kBinCount> hits{};  // by capacity
    std::uint64_t references = 0;
  };
  const std::vector<Group>& groups() const { return groups_; }

 private:
  // Neither the upper bits, which decide on sampling, nor the lowest, by which
  // hash tables spread.
  Group& group_of(std::uint64_t hash) { return groups_[(hash >> 16) % kGroups]; }

  std::vector<Group> groups_;
};

// What was sampled, in references of the whole stream.
struct SampledCounts {
  struct Step {
    double capacity;  // from which on references hit, or the middle of
    double earliest;  // a bin of capacities that are not told apart:
    double latest;    // both equal `capacity` where there is none
    double hits;      // by the sample, of this step and all before
  };
  std::vector<Step> steps = {};  // by increasing capacity
  double references = 0;         // by the sample
  double distinct = 0;           // blocks, by the sample
  double accesses = 0;           // of the stream, known
  double rate = 1;
  double unit = 1;  // references that a spread of 1 in the groups stands for
};

// The corrected curve, its 95 % confidence band and what there is to say.
//
// For a capacity c let X be the sampled hits, S the sampled references, N the
// stream's. The estimate is X + b (N - S): b = X / S gives the ratios of the
// sample, b = 1 the adjustment of SHARDS, and 1 - b of least variance is that of
// the regression of the blocks' misses on their references (Cochran, Sampling
// Techniques, ch. 7): their covariance over the variance of S. It is near 0 where
// the error in S comes from a few blocks that always hit and near the miss ratio
// where blocks are alike, at each capacity by itself.
//
// The groups tell both, but the few blocks that most of S hangs on may all be
// missing from the sample, which then knows nothing of them. Misses need no such
// blocks: between two misses of one block lie c others, so that none has more than
// N / c. Their covariance is the groups', and the variance of S the largest that
// the groups, the references looked at, whoever is sampled, and N - S itself make
// likely. Where blocks are missing, b so goes to 1.
//
// Of a few blocks with much of all references it is known that they are missing, and how
// much they have: who looks at references at random meets them often. They are set aside:
// they count as hits, as all that is missing does in SHARDS, and the rest is corrected as
// if the stream were without them.
//
// Two things make the band. Which blocks were sampled: the variance of that
// estimate, with a quantile for sums that few blocks decide and room for the few
// hits or misses that were not met. And how many of the blocks between two
// references were: a capacity is known as the sampled count of its blocks, which is
// binomial. The two go together, for the same blocks make both, and are added as
// they are; so is the width of bins.
//
// The band is where the stream's curve is, not how far a correction strays: it is
// that of `auto`, and with other corrections it is stretched to hold them. With
// less than kFewestBlocks sampled blocks there is none and nothing is resolved;
// otherwise, below the resolved capacities, it says that less space hits no more.
CurveEstimate sampled_curve(const SampledCounts& counts, const SampleGroups& groups,
                            const ReferenceSample& looked_at, Correction correction);

}  // namespace mcsim
