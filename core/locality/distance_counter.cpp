#include "core/locality/distance_counter.hpp"

#include <algorithm>

namespace mcsim {

DistanceHistogram DistanceCounter::histogram() const {
  DistanceHistogram result;
  const auto occurred = counts_.size() - static_cast<std::size_t>(
                                             std::count(counts_.begin(), counts_.end(), Count{0}));
  result.distance.reserve(occurred);
  result.count.reserve(occurred);
  for (std::size_t d = 0; d < counts_.size(); ++d) {
    if (counts_[d] == 0) continue;
    result.distance.push_back(static_cast<Count>(d));
    result.count.push_back(counts_[d]);
  }
  result.cold = cold_;
  return result;
}

}  // namespace mcsim
