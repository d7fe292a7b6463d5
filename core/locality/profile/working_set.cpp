#include "core/locality/profile/working_set.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>

namespace mcsim {

WorkingSet::WorkingSet(std::vector<Count> windows)
    : windows_(std::move(windows)), bounds_(windows_) {
  std::ranges::sort(bounds_);
  times_.resize(bounds_.size() + 1);
  sum_.resize(bounds_.size() + 1);
}

void WorkingSet::process(std::span<const std::uint64_t> keys) {
  last_.visit_times(keys, now_, [this](Count time) {
    const auto at =
        static_cast<std::size_t>(std::ranges::lower_bound(bounds_, time) - bounds_.begin());
    ++times_[at];
    sum_[at] += static_cast<double>(time);
  });
  now_ += static_cast<Count>(keys.size());
}

std::vector<double> WorkingSet::average() const {
  std::vector<double> averages;
  for (const Count window : windows_) {
    const auto width = static_cast<double>(window);
    double stays = 0;  // of blocks in the set, in references
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const bool reused_inside = i < bounds_.size() && bounds_[i] <= window;
      stays += reused_inside ? sum_[i] : width * static_cast<double>(times_[i]);
    }
    last_.for_each(
        [&](Count last) { stays += static_cast<double>(std::min(window, now_ - last)); });
    averages.push_back(now_ == 0 ? 0 : stays / static_cast<double>(now_));
  }
  return averages;
}

absl::StatusOr<std::vector<double>> distinct_per_interval(const References& references,
                                                          Nanoseconds interval,
                                                          UniqueCounter unique, int precision) {
  if (interval <= 0) return invalid_argument("interval: {} ns is not positive", interval);
  const auto time_of = [&](std::size_t i) {
    return references.times.empty() ? static_cast<Nanoseconds>(i) : references.times[i];
  };
  std::vector<double> distinct;
  boost::unordered_flat_set<std::uint64_t> blocks;
  HyperLogLog sketch(precision);
  for (std::size_t i = 0; i < references.keys.size();) {
    const Nanoseconds number = (time_of(i) - time_of(0)) / interval;
    const Nanoseconds end = time_of(0) + (number + 1) * interval;
    blocks.clear();
    sketch.clear();
    for (; i < references.keys.size() && time_of(i) < end; ++i) {
      if (unique == UniqueCounter::kHyperLogLog) {
        sketch.add(references.keys[i]);
      } else {
        blocks.insert(references.keys[i]);
      }
    }
    distinct.resize(static_cast<std::size_t>(number) + 1);
    distinct.back() = unique == UniqueCounter::kHyperLogLog ? sketch.estimate()
                                                            : static_cast<double>(blocks.size());
  }
  return distinct;
}

}  // namespace mcsim
