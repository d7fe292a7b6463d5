#pragma once

#include "core/locality/estimators/reuse_times.hpp"

namespace mcsim {

// A reuse time represents its expected distance: the expected number of references in between that
// are the last ones to their block in that interval.
class StatStackEstimator final : public ReuseTimeEstimator<DepthModel::kExpectedDistance> {
 public:
  using ReuseTimeEstimator::ReuseTimeEstimator;
  static constexpr ComponentInfo kInfo{
      .name = "statstack",
      .summary = "Hits from reuse times by the expected distance of each.",
      .reference = "Eklov and Hagersten, ISPASS 2010"};
};

}  // namespace mcsim
