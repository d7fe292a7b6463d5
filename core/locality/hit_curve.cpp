#include "core/locality/hit_curve.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mcsim {

Count DistanceHistogram::accesses() const {
  return std::accumulate(count.begin(), count.end(), cold);
}

void DistanceHistogram::merge(const DistanceHistogram& other) {
  cold += other.cold;
  if (other.distance.empty()) return;
  const std::size_t mine = distance.size();
  const std::size_t theirs = other.distance.size();
  std::vector<Count> sum_distance(mine + theirs);
  std::vector<Count> sum_count(mine + theirs);
  std::size_t i = 0;
  std::size_t j = 0;
  std::size_t size = 0;
  for (; i < mine && j < theirs; ++size) {
    const Count a = distance[i];
    const Count b = other.distance[j];
    sum_distance[size] = std::min(a, b);
    sum_count[size] = (a <= b ? count[i] : 0) + (b <= a ? other.count[j] : 0);
    i += a <= b ? 1 : 0;
    j += b <= a ? 1 : 0;
  }
  for (; i < mine; ++i, ++size) {
    sum_distance[size] = distance[i];
    sum_count[size] = count[i];
  }
  for (; j < theirs; ++j, ++size) {
    sum_distance[size] = other.distance[j];
    sum_count[size] = other.count[j];
  }
  sum_distance.resize(size);
  sum_count.resize(size);
  distance = std::move(sum_distance);
  count = std::move(sum_count);
}

void DistanceHistogram::truncate(Count limit) {
  const auto kept = std::lower_bound(distance.begin(), distance.end(), limit) - distance.begin();
  cold = std::accumulate(count.begin() + kept, count.end(), cold);
  distance.resize(static_cast<std::size_t>(kept));
  count.resize(static_cast<std::size_t>(kept));
}

HitCurve::HitCurve(DistanceHistogram histogram)
    : distance_(std::move(histogram.distance)), cumulative_(std::move(histogram.count)) {
  std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
  accesses_ = histogram.cold + (cumulative_.empty() ? 0 : cumulative_.back());
}

Count HitCurve::hits(Count capacity) const {
  const auto beyond = std::lower_bound(distance_.begin(), distance_.end(), capacity);
  return beyond == distance_.begin()
             ? 0
             : cumulative_[static_cast<std::size_t>(beyond - distance_.begin() - 1)];
}

double HitCurve::ratio(Count capacity) const {
  return accesses_ == 0 ? 0 : static_cast<double>(hits(capacity)) / static_cast<double>(accesses_);
}

std::vector<Count> HitCurve::points(std::span<const Count> capacities) const {
  std::vector<Count> found;
  found.reserve(capacities.size());
  for (const Count capacity : capacities) found.push_back(hits(capacity));
  return found;
}

HitCurve HitCurve::sampled(std::span<const Count> capacities) const {
  HitCurve curve;
  curve.accesses_ = accesses_;
  Count known = 0;
  for (const Count capacity : capacities) {
    const Count found = hits(capacity);
    if (found == known) continue;
    curve.distance_.push_back(capacity - 1);
    curve.cumulative_.push_back(found);
    known = found;
  }
  return curve;
}

Count HitCurve::capacity_for(Count wanted) const {
  if (wanted <= 0) return 0;
  const auto step = std::lower_bound(cumulative_.begin(), cumulative_.end(), wanted);
  if (step == cumulative_.end()) return -1;
  return distance_[static_cast<std::size_t>(step - cumulative_.begin())] + 1;
}

void HitCurve::merge(const HitCurve& other) {
  DistanceHistogram sum = histogram();
  sum.merge(other.histogram());
  *this = HitCurve(std::move(sum));
}

DistanceHistogram HitCurve::histogram() const {
  DistanceHistogram steps{.distance = distance_, .count = cumulative_};
  std::adjacent_difference(cumulative_.begin(), cumulative_.end(), steps.count.begin());
  steps.cold = accesses_ - (cumulative_.empty() ? 0 : cumulative_.back());
  return steps;
}

}  // namespace mcsim
