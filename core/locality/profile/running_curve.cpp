#include "core/locality/profile/running_curve.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace mcsim {

RunningCurve RunningCurve::of(const HitCurve& curve, Count limit) {
  const DistanceHistogram histogram = curve.histogram();
  std::vector<DistanceCount> counts;
  for (std::size_t i = 0; i < histogram.distance.size(); ++i) {
    // A count may exceed 32 bits; the remainder becomes further entries.
    for (Count left = histogram.count[i]; left > 0;) {
      const Count now = std::min<Count>(left, 0xffff'ffff);
      counts.push_back(
          {static_cast<std::uint32_t>(histogram.distance[i]), static_cast<std::uint32_t>(now)});
      left -= now;
    }
  }
  RunningCurve result;
  result.add(counts, limit);
  result.set_accesses(curve.accesses());
  return result;
}

void RunningCurve::add(std::span<const DistanceCount> counts, Count limit) {
  change(counts, limit, 1);
}

void RunningCurve::remove(std::span<const DistanceCount> counts, Count limit) {
  change(counts, limit, -1);
}

void RunningCurve::change(std::span<const DistanceCount> counts, Count limit, Count sign) {
  if (counts.empty()) return;
  std::size_t largest = std::ranges::max(counts, {}, &DistanceCount::distance).distance;
  if (limit > 0) largest = std::min(largest, static_cast<std::size_t>(limit - 1));
  if (largest >= counts_.size()) {
    sums_.resize(largest / kGroupSize + 1);
    counts_.resize(sums_.size() * kGroupSize);
    before_.resize(sums_.size() + 1);
  }
  for (const auto& [distance, count] : counts) {
    if (limit > 0 && distance >= limit) continue;
    counts_[distance] += sign * count;
    assert(counts_[distance] >= 0 && "only counts that were added are removed");
    sums_[distance / kGroupSize] += sign * count;
  }
  std::inclusive_scan(sums_.begin(), sums_.end(), before_.begin() + 1);
}

Count RunningCurve::hits(Count capacity) const {
  if (capacity <= 0 || counts_.empty()) return 0;
  const auto end = static_cast<std::size_t>(capacity);
  if (end >= counts_.size()) return before_.back();
  const std::size_t together = (end - 1) / kGroupSize;
  const auto counts = counts_.begin();
  return std::accumulate(counts + static_cast<std::ptrdiff_t>(together * kGroupSize),
                         counts + static_cast<std::ptrdiff_t>(end), before_[together]);
}

double RunningCurve::ratio(Count capacity) const {
  return accesses_ == 0 ? 0 : static_cast<double>(hits(capacity)) / static_cast<double>(accesses_);
}

Count RunningCurve::saturation() const {
  return before_.empty() ? 0 : capacity_for(before_.back());
}

Count RunningCurve::capacity_for(Count wanted) const {
  if (wanted <= 0) return 0;
  // The first prefix sum with enough hits.
  const auto enough = std::ranges::lower_bound(before_, wanted);
  if (enough == before_.end()) return -1;
  const auto together = static_cast<std::size_t>(enough - before_.begin() - 1);
  Count hits = before_[together];
  std::size_t distance = together * kGroupSize;
  while ((hits += counts_[distance]) < wanted) ++distance;
  return static_cast<Count>(distance) + 1;
}

HitCurve RunningCurve::curve() const {
  DistanceHistogram histogram;
  for (std::size_t distance = 0; distance < counts_.size(); ++distance) {
    if (counts_[distance] == 0) continue;
    histogram.distance.push_back(static_cast<Count>(distance));
    histogram.count.push_back(counts_[distance]);
  }
  histogram.cold = accesses_ - std::accumulate(sums_.begin(), sums_.end(), Count{0});
  return HitCurve(std::move(histogram));
}

}  // namespace mcsim
