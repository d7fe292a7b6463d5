#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/containers/log_linear_bins.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/sampling/reference_sample.hpp"

// Computes the curve of a whole stream from counts on a spatial sample, with its error.
namespace mcsim {

// All larger capacities count as this one.
inline constexpr std::uint64_t kMostCapacity = (std::uint64_t{1} << 40) - 1;

// How to correct for sampling too few or too many references: the stream's length is known, and so
// is the sample's error in it.
enum class Correction : std::uint8_t {
  kAuto,        // between the other two, by the unevenness that the sample shows
  kNone,        // scale the sampled hits: ratios of the sample
  kAdjusted,    // count the difference as hits at any capacity (SHARDS_adj)
  kRegression,  // always the regression described at sampled_curve()
};

template <>
struct Choices<Correction> {
  static constexpr std::array names{
      std::pair{"auto", Correction::kAuto}, std::pair{"none", Correction::kNone},
      std::pair{"adj", Correction::kAdjusted}, std::pair{"regression", Correction::kRegression}};
};

// The sampled references by random group of sampled blocks, in coarse bins. Sampling picks blocks,
// not references, so the variance comes from the totals of blocks: the groups are samples
// themselves and show how much they vary.
//
// A reference sampled at the rate R counts for 1 / R and has the standard deviation sqrt((1 - R) /
// R^2), its spread. Groups weigh references by spread, so references counted before the rate fell,
// when most blocks were sampled, add little variance. Integers only; 43 KB.
class SampleGroups {
 public:
  static constexpr std::size_t kGroups = 32;
  static constexpr LogLinearBins kBins{2};
  static constexpr std::size_t kBinCount = kBins.index(kMostCapacity) + 1;

  SampleGroups() : groups_(kGroups) {}

  void clear() { std::fill(groups_.begin(), groups_.end(), Group{}); }
  std::size_t bytes() const { return groups_.size() * sizeof(Group); }
  // Adds the references of another piece of the stream.
  void merge(const SampleGroups& piece);

  // Counts a reference with this spread to the block with this hash, which hits from `capacity` on
  // or never.
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
  // All counts as a column, for files.
  static constexpr std::size_t kCounts = kGroups * (kBinCount + 1);
  std::vector<std::uint64_t> counts() const;
  // `counts` are kCounts.
  static SampleGroups of_counts(std::span<const std::uint64_t> counts);

 private:
  // Uses middle bits: the upper bits decide on sampling, the lowest on places in hash tables.
  Group& group_of(std::uint64_t hash) { return groups_[(hash >> 16) % kGroups]; }

  std::vector<Group> groups_;
};

// Sampled counts, scaled to the whole stream.
struct SampledCounts {
  struct Step {
    double capacity;  // from which on references hit, or the middle of its bin
    double earliest;  // the lowest capacity of the bin; `capacity` without bins
    double latest;    // the highest capacity of the bin; `capacity` without bins
    double hits;      // by the sample, of this step and all before
  };
  std::vector<Step> steps = {};  // by increasing capacity
  double references = 0;         // by the sample
  double distinct = 0;           // blocks, by the sample
  double accesses = 0;           // of the stream, known
  double rate = 1;
  double unit = 1;  // references that a spread of 1 in the groups stands for
};

// Returns the corrected curve, its 95 % confidence band and a note on the correction.
//
// For a capacity c let X be the sampled hits, S the sampled references and N the stream's
// references. The estimate is X + b (N - S). b = X / S gives the ratios of the sample, b = 1 the
// adjustment of SHARDS. The 1 - b of least variance is the slope of the regression of the blocks'
// misses on their references (Cochran, Sampling Techniques, ch. 7): their covariance over the
// variance of S. It is near 0 if the error in S comes from a few blocks that always hit, and near
// the miss ratio if blocks are alike. Each capacity has its own slope.
//
// The groups give estimates of both, but the sample may lack all of the few blocks that dominate S.
// Misses do not depend on such blocks: between two misses of one block lie c others, so that no
// block has more than (N + c) / (c + 1) misses. The covariance therefore comes from the groups. The
// variance of S is the largest that is likely given the groups, the reference sample, which is
// independent of the spatial sample, and N - S. If blocks are missing, b thus approaches 1.
//
// A few blocks with a large share of all references may be known to be missing, because the
// reference sample meets them often. They are set aside: they count as hits, as all missing
// references do in SHARDS, and the correction applies to the stream without them.
//
// The band covers two errors. The first is the choice of sampled blocks: the variance of the
// estimate, with a quantile for sums dominated by few blocks and an allowance for rare hits or
// misses that were not sampled. The second is the number of sampled blocks between two references:
// it is binomial, and the sample only shows a capacity by this number. Both come from the same
// blocks, so they are added linearly; so is the width of bins.
//
// The band covers the stream's curve, whatever the correction: it is that of `auto`, extended to
// contain the curves of other corrections. With less than kFewestBlocks sampled blocks there is no
// band and nothing is resolved. Otherwise, below the resolved capacities, the band only states that
// smaller capacities hit no more.
CurveEstimate sampled_curve(const SampledCounts& counts, const SampleGroups& groups,
                            const ReferenceSample& reference_sample, Correction correction);

}  // namespace mcsim
