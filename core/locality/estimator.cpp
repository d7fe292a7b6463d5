#include "core/locality/estimator.hpp"

#include <algorithm>

namespace mcsim {

double value_at(std::span<const double> capacities, std::span<const double> values,
                double capacity) {
  const auto beyond = std::ranges::upper_bound(capacities, capacity);
  if (beyond == capacities.begin()) return 0;
  return values[static_cast<std::size_t>(beyond - capacities.begin() - 1)];
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
