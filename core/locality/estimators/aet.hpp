#pragma once

#include "core/locality/estimators/reuse_times.hpp"

namespace mcsim {

// The average eviction time of a cache follows from the reuse times alone, and a
// reference hits if its reuse time is no longer. O(1) per reference.
class AetEstimator final : public Estimator {
 public:
  using Params = ReuseTimeParams;
  static constexpr ComponentInfo kInfo{
      .name = "aet",
      .summary = "Hits from reuse times by the average eviction time of each capacity.",
      .reference = "Hu et al., USENIX ATC 2016"};

  AetEstimator(const Params& params, EstimatorContext context) : times_(params, context.seed) {}

  absl::Status process(const References& next) override {
    times_.process(next.keys);
    return absl::OkStatus();
  }
  absl::StatusOr<CurveEstimate> curve() override {
    return curve_of(times_, DepthModel::kAverageEviction);
  }
  double distinct() const override { return times_.distinct(); }
  std::size_t bytes() const override { return sizeof *this + times_.bytes(); }

 private:
  ReuseTimes times_;
};

}  // namespace mcsim
