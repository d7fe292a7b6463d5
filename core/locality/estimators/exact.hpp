#pragma once

#include "core/base/params.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/exact_distances.hpp"

namespace mcsim {

// Every reuse distance, one thread, any stream.
class ExactEstimator final : public Estimator {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{.name = "exact",
                                       .summary = "Count every reuse distance.",
                                       .reference = "Olken, LBL-12370, 1981"};

  ExactEstimator(Params, EstimatorContext) {}

  absl::Status process(const References& next) override { return distances_.process(next.keys); }
  absl::StatusOr<CurveEstimate> curve() override { return exact_estimate(distances_.histogram()); }
  double distinct() const override { return static_cast<double>(distances_.distinct()); }
  std::size_t bytes() const override { return sizeof *this + distances_.bytes(); }

 private:
  ExactDistances distances_;
};

}  // namespace mcsim
