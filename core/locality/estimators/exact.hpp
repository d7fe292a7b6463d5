#pragma once

#include <span>
#include <tuple>
#include <variant>
#include <vector>

#include "core/base/params.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/parallel_distances.hpp"
#include "core/locality/distances/request_distances.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// Every reuse distance of any stream. Several threads only change time and memory. Discards and
// requests need one thread.
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

  ExactEstimator(Params params, EstimatorContext context)
      : requests_(static_cast<int>(params.bin_bits)) {
    const DistanceOptions options{.bin_bits = static_cast<int>(params.bin_bits)};
    if (context.threads > 1) {
      distances_.emplace<ParallelDistances>(
          ParallelOptions{.threads = context.threads, .distances = options});
    } else {
      distances_.emplace<ExactDistances>(options);
    }
  }

  absl::Status process(const References& next) override {
    if (next.discard_at.empty() && next.requests.blocks.empty()) {
      return std::visit([&](auto& distances) { return distances.process(next.keys); }, distances_);
    }
    auto* const one_thread = std::get_if<ExactDistances>(&distances_);
    if (one_thread == nullptr) {
      return invalid_argument("exact: discards and requests need threads=1");
    }
    of_piece_.resize(next.keys.size());
    auto rest = std::span(of_piece_);
    MCSIM_RETURN_IF_ERROR(for_each_run(
        next,
        [&](const References& run) {
          const auto found = rest.first(run.keys.size());
          rest = rest.subspan(run.keys.size());
          return one_thread->process(run.keys, found);
        },
        [&](std::uint64_t key) { one_thread->discard(key); }));
    if (!next.requests.blocks.empty()) requests_.count(next.requests, of_piece_);
    return absl::OkStatus();
  }
  absl::StatusOr<CurveEstimate> curve() override {
    const auto histogram = std::visit(
        [](auto& distances) { return absl::StatusOr<DistanceHistogram>(distances.histogram()); },
        distances_);
    if (!histogram.ok()) return histogram.status();
    CurveEstimate curve = exact_estimate(*histogram);
    requests_.add_to(curve);
    return curve;
  }
  double distinct() const override {
    return std::visit(
        [](const auto& distances) { return static_cast<double>(distances.distinct()); },
        distances_);
  }
  bool removes_discards() const override { return true; }
  std::size_t bytes() const override {
    return sizeof *this + requests_.memory_bytes() + of_piece_.capacity() * sizeof(Count) +
           std::visit([](const auto& distances) { return distances.bytes(); }, distances_);
  }

 private:
  std::variant<ExactDistances, ParallelDistances> distances_;
  RequestDistances requests_;
  std::vector<Count> of_piece_;  // distances
};

}  // namespace mcsim
