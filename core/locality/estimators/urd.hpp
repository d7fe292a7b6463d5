#pragma once

#include <tuple>

#include "core/base/params.hpp"
#include "core/locality/profile/request_classes.hpp"

namespace mcsim {

// Hits of reads alone, as a share of all accesses: useful reuse distances. Exact.
class UrdEstimator final : public Estimator {
 public:
  struct Params {
    bool count_writes = true;

    static constexpr auto fields() {
      return std::tuple{Field{"count_writes", &Params::count_writes,
                              "whether blocks that were written in between count in a distance"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "urd",
      .summary = "Count the distances of reads to blocks that were accessed before.",
      .reference = "Ahmadian et al., POMACS 2(1), 2018"};

  UrdEstimator(const Params& params, EstimatorContext) : classes_(params.count_writes) {}

  absl::Status process(const References& next) override { return classes_.process(next); }
  absl::StatusOr<CurveEstimate> curve() override { return exact_estimate(classes_.urd()); }
  double distinct() const override { return classes_.distinct(); }
  std::size_t bytes() const override { return sizeof *this + classes_.bytes(); }

 private:
  RequestClasses classes_;
};

}  // namespace mcsim
