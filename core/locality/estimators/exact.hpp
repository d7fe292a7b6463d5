#pragma once

#include <tuple>
#include <variant>

#include "core/base/params.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/parallel_distances.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// Every reuse distance, of any stream; on several threads if the context has them,
// which changes nothing but the time and the memory.
class ExactEstimator final : public Estimator {
 public:
  struct Params {
    Count bin_bits = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"bin_bits", &Params::bin_bits,
                "b > 0: distances in bins at most 2^-b as wide as they are long, which "
                "bounds the histogram; never too many hits",
                0, 20}};
    }
  };
  static constexpr ComponentInfo kInfo{.name = "exact",
                                       .summary = "Count every reuse distance.",
                                       .reference = "Olken, LBL-12370, 1981"};

  ExactEstimator(Params params, EstimatorContext context) {
    const DistanceOptions options{.bin_bits = static_cast<int>(params.bin_bits)};
    if (context.threads > 1) {
      distances_.emplace<ParallelDistances>(
          ParallelOptions{.threads = context.threads, .distances = options});
    } else {
      distances_.emplace<ExactDistances>(options);
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
