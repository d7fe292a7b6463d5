#pragma once

#include "core/locality/estimators/reuse_times.hpp"

namespace mcsim {

// Every reuse time stands for the distance that is to be expected of it: how many
// of the references in between are the last ones to their block there. O(1) per
// reference.
class StatStackEstimator final : public Estimator {
 public:
  using Params = ReuseTimeParams;
  static constexpr ComponentInfo kInfo{
      .name = "statstack",
      .summary = "Hits from reuse times by the expected distance of each.",
      .reference = "Eklov and Hagersten, ISPASS 2010"};

  StatStackEstimator(const Params& params, EstimatorContext context)
      : times_(params, context.seed) {}

  absl::Status process(const References& next) override {
    times_.process(next.keys);
    return absl::OkStatus();
  }
  absl::StatusOr<CurveEstimate> curve() override {
    return curve_of(times_, DepthModel::kExpectedDistance);
  }
  double distinct() const override { return times_.distinct(); }
  std::size_t bytes() const override { return sizeof *this + times_.bytes(); }

 private:
  ReuseTimes times_;
};

}  // namespace mcsim
