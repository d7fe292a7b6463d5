#pragma once

#include "core/locality/estimators/reuse_times.hpp"

namespace mcsim {

// Every reuse time stands for the distance that is to be expected of it: how many
// of the references in between are the last ones to their block there.
class StatStackEstimator final : public ReuseTimeEstimator<DepthModel::kExpectedDistance> {
 public:
  using ReuseTimeEstimator::ReuseTimeEstimator;
  static constexpr ComponentInfo kInfo{
      .name = "statstack",
      .summary = "Hits from reuse times by the expected distance of each.",
      .reference = "Eklov and Hagersten, ISPASS 2010"};
};

}  // namespace mcsim
