#pragma once

#include "core/locality/estimators/reuse_times.hpp"

namespace mcsim {

// The average eviction time of a cache follows from the reuse times; a reference hits if its reuse
// time is at most that long.
class AetEstimator final : public ReuseTimeEstimator<DepthModel::kAverageEviction> {
 public:
  using ReuseTimeEstimator::ReuseTimeEstimator;
  static constexpr ComponentInfo kInfo{
      .name = "aet",
      .summary = "Hits from reuse times by the average eviction time of each capacity.",
      .reference = "Hu et al., USENIX ATC 2016"};
};

}  // namespace mcsim
