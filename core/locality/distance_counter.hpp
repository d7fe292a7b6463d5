#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/locality/reuse_distance.hpp"

namespace mcsim {

// Counts distances one by one and hands them out as a histogram. Working memory
// is eight bytes a distance up to the largest one met.
class DistanceCounter {
 public:
  // Distances >= `limit` count as cold; 0 sets no limit.
  explicit DistanceCounter(Count limit = 0)
      : limit_(limit == 0 ? std::numeric_limits<Count>::max() : limit) {}

  void add(Count distance) {
    if (distance == kCold || distance >= limit_) {
      ++cold_;
      return;
    }
    const auto index = static_cast<std::size_t>(distance);
    if (index >= counts_.size()) counts_.resize(index + 1);
    ++counts_[index];
  }

  void clear() {
    counts_.clear();
    cold_ = 0;
  }

  DistanceHistogram histogram() const;

 private:
  Count limit_;
  std::vector<Count> counts_;  // by distance
  Count cold_ = 0;
};

}  // namespace mcsim
