#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "core/base/params.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/sampling/sampled_curve.hpp"

namespace mcsim {

// The counts that the curve of fixed-rate SHARDS is computed from.
struct RateSample {
  double rate = 1;
  std::uint64_t references = 0;  // of the stream, without those to discarded blocks
  std::uint64_t after_discards = 0;
  std::uint64_t sampled_after_discards = 0;
  Count distinct = 0;  // sampled blocks
};

// Returns the curve, given the distances of the sampled references.
CurveEstimate shards_rate_curve(const RateSample& sample, const DistanceHistogram& distances,
                                const SampleGroups& groups, const ReferenceSample& reference_sample,
                                Correction correction);

// Counts a sampled reference of this distance, to the block with this hash; of a first access as
// cold.
void add_to_groups(SampleGroups& groups, std::uint64_t hash, Count distance, double rate);

// The weight of a reference in the reference sample.
std::uint64_t weight_at(double rate);

// Fixed-rate SHARDS: the exact distances of a spatial sample, scaled up. Memory is that of the
// sampled blocks; the filter takes nearly all the time.
//
// The next reference to a discarded block misses in every cache, whether it is sampled or not. Such
// references are counted in the whole stream, and the correction applies to the others: only for
// them holds that a block referenced often hits. Discarded blocks are kept until their next
// reference, sampled or not.
//
// The reference sample depends on times if references have them (PartialSample), on positions
// otherwise.
class ShardsRate final : public Estimator {
 public:
  struct Params {
    double rate = 0.001;
    Correction correction = Correction::kAuto;

    static constexpr auto fields() {
      return std::tuple{
          Field{"rate", &Params::rate, "share of the blocks that is sampled", 1e-9, 1},
          Field{"correction", &Params::correction,
                "what becomes of the references that the sample has too few or too many of"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "shards-rate",
      .summary = "Distances of a fixed share of the blocks, picked by hash.",
      .reference =
          "Waldspurger, Park, Garthwaite, Ahmad, Efficient MRC Construction with SHARDS, "
          "FAST 2015"};

  ShardsRate(Params params, EstimatorContext context);

  absl::Status process(const References& next) override;
  absl::StatusOr<CurveEstimate> curve() override;
  double distinct() const override {
    return static_cast<double>(distances_.distinct()) / filter_.rate();
  }
  bool removes_discards() const override { return true; }
  std::size_t bytes() const override;

 private:
  absl::Status count(References next);
  // Counts references to discarded blocks, and the others between them.
  absl::Status count_after_discards(const References& next);
  void sample_references(const References& batch);

  static constexpr std::size_t kBatch = std::size_t{1} << 14;  // keys

  Correction correction_;
  SpatialFilter filter_;
  ExactDistances distances_;  // of the sampled keys
  SampleGroups groups_;
  ReferenceSample reference_sample_;
  TimedReferenceSample timed_sample_;
  bool has_times_ = false;
  std::uint64_t references_ = 0;                             // without those to discarded blocks
  std::uint64_t after_discards_ = 0;                         // those to discarded blocks
  std::uint64_t sampled_after_discards_ = 0;                 // sampled ones among them
  boost::unordered_flat_set<std::uint64_t> discarded_ = {};  // keys
  std::vector<std::uint64_t> survivors_;                     // of one batch
  std::vector<Count> survivor_distances_;
};

}  // namespace mcsim
