#include "core/locality/estimator.hpp"

#include <algorithm>

namespace mcsim {

double CurveEstimate::hits_at(double blocks) const {
  const auto beyond = std::upper_bound(capacity.begin(), capacity.end(), blocks);
  if (beyond == capacity.begin()) return 0;
  return hits[static_cast<std::size_t>(beyond - capacity.begin() - 1)];
}

CurveEstimate exact_estimate(const DistanceHistogram& histogram) {
  CurveEstimate curve;
  curve.accesses = static_cast<double>(histogram.accesses());
  Count hits = 0;
  for (std::size_t i = 0; i < histogram.distance.size(); ++i) {
    hits += histogram.count[i];
    curve.capacity.push_back(static_cast<double>(histogram.distance[i] + 1));
    curve.hits.push_back(static_cast<double>(hits));
  }
  return curve;
}

}  // namespace mcsim
