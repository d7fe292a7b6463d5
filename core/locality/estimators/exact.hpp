#pragma once

#include <variant>

#include "core/base/params.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/exact_distances.hpp"
#include "core/locality/parallel_distances.hpp"

namespace mcsim {

// Every reuse distance, of any stream; on several threads if the context has them,
// which changes nothing but the time and the memory.
class ExactEstimator final : public Estimator {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{.name = "exact",
                                       .summary = "Count every reuse distance.",
                                       .reference = "Olken, LBL-12370, 1981"};

  ExactEstimator(Params, EstimatorContext context) {
    if (context.threads > 1) {
      distances_.emplace<ParallelDistances>(ParallelOptions{.threads = context.threads});
    }
  }

  absl::Status process(const References& next) override {
    return std::visit([&](auto& distances) { return distances.process(next.keys); }, distances_);
  }
  absl::StatusOr<CurveEstimate> curve() override {
    const auto histogram = std::visit(
        [](auto& distances) { return absl::StatusOr<DistanceHistogram>(distances.histogram()); },
        distances_);
    if (!histogram.ok()) return histogram.status();
    return exact_estimate(*histogram);
  }
  double distinct() const override {
    return std::visit(
        [](const auto& distances) { return static_cast<double>(distances.distinct()); },
        distances_);
  }
  std::size_t bytes() const override {
    return sizeof *this +
           std::visit([](const auto& distances) { return distances.bytes(); }, distances_);
  }

 private:
  std::variant<ExactDistances, ParallelDistances> distances_;
};

}  // namespace mcsim
