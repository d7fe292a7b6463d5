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

// Fixed-rate SHARDS: the exact distances of a spatial sample, scaled up. Memory is that of the
// sampled blocks; the filter takes nearly all the time.
//
// The next reference to a discarded block misses in every cache, whether it is sampled or not. Such
// references are counted in the whole stream, and the correction applies to the others: only for
// them holds that a block referenced often hits. Discarded blocks are kept until their next
// reference, sampled or not.
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
  absl::Status count(std::span<const std::uint64_t> keys);
  // Counts references to discarded blocks, and the others between them.
  absl::Status count_after_discards(std::span<const std::uint64_t> keys);

  static constexpr std::size_t kBatch = std::size_t{1} << 14;  // keys

  Correction correction_;
  SpatialFilter filter_;
  ExactDistances distances_;  // of the sampled keys
  SampleGroups groups_;
  ReferenceSample reference_sample_;
  std::uint64_t references_ = 0;                             // without those to discarded blocks
  std::uint64_t after_discards_ = 0;                         // those to discarded blocks
  std::uint64_t sampled_after_discards_ = 0;                 // sampled ones among them
  boost::unordered_flat_set<std::uint64_t> discarded_ = {};  // keys
  std::vector<std::uint64_t> survivors_;                     // of one batch
  std::vector<Count> survivor_distances_;
};

}  // namespace mcsim
