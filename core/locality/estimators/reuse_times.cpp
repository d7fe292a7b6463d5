#include "core/locality/estimators/reuse_times.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/portable_math.hpp"

namespace mcsim {

ReuseTimes::ReuseTimes(const ReuseTimeParams& params, std::uint64_t seed)
    : rate_(params.rate),
      reservoir_(static_cast<std::size_t>(params.reservoir)),
      random_(Random(seed).split("reuse times")),
      times_(params.bins) {
  if (rate_ == 1 && reservoir_ == 0) {
    last_.emplace();
  } else if (rate_ < 1) {
    next_draw_ = -1;
    draw_next();
  }
}

void ReuseTimes::process(std::span<const std::uint64_t> keys) {
  if (last_) {
    last_->visit_times(keys, now_, [this](Count time) {
      times_.add(time, 1);
      ++finite_;
    });
    now_ += static_cast<Count>(keys.size());
  } else {
    process_sampled(keys);
  }
}

void ReuseTimes::process_sampled(std::span<const std::uint64_t> keys) {
  for (const std::uint64_t key : keys) {
    if (const auto watch = watched_.find(key); watch != watched_.end()) finish(watch);
    if (now_ == next_draw_) {
      start(key);
      draw_next();
    }
    ++now_;
  }
}

void ReuseTimes::finish(KeyTable<Watch>::iterator watch) {
  const Count time = now_ - watch->second.start;
  times_.add(time, 1);
  ++finite_;
  if (reservoir_ > 0) samples_[watch->second.place].time = time;
  watched_.erase(watch);
}

void ReuseTimes::start(std::uint64_t key) {
  ++drawn_;
  std::size_t place = 0;
  if (reservoir_ > 0) {
    place = take_place();
    if (place == kNowhere) return;
    samples_[place] = {.key = key, .time = 0};
  }
  watched_[key] = {.start = now_, .place = place};
}

std::size_t ReuseTimes::take_place() {
  if (samples_.size() < reservoir_) {
    samples_.emplace_back();
    return samples_.size() - 1;
  }
  const std::size_t place = random_.below(static_cast<std::uint64_t>(drawn_));
  if (place >= reservoir_) return kNowhere;
  const Sample& gone = samples_[place];
  if (gone.time == 0) {
    watched_.erase(gone.key);
  } else {
    times_.add(gone.time, -1);
    --finite_;
  }
  return place;
}

void ReuseTimes::draw_next() {
  // Gaps between independent draws are geometric.
  const double gap =
      rate_ == 1 ? 0 : portable_log2(1 - random_.uniform()) / portable_log2(1 - rate_);
  next_draw_ += 1 + static_cast<Count>(std::min(gap, 0x1.0p62));
}

double ReuseTimes::distinct() const {
  if (measured() == 0) return 0;
  return static_cast<double>(now_) * static_cast<double>(without()) /
         static_cast<double>(measured());
}

std::size_t ReuseTimes::bytes() const {
  return times_.bytes() + (last_ ? last_->bytes() : 0) + bytes_of(watched_) +
         samples_.capacity() * sizeof(Sample);
}

CurveEstimate curve_of(const ReuseTimes& times, DepthModel model) {
  CurveEstimate curve;
  curve.accesses = static_cast<double>(times.references());
  const auto measured = static_cast<double>(times.measured());
  double longer = measured;  // references with a reuse time of `from` or more
  double depth = 0;          // the sum of those with a time > t over 1 <= t < from
  Count from = 1;
  double hits = 0;
  times.times().for_each([&](Count lowest, Count width, Count mass) {
    depth += static_cast<double>(lowest - from) * longer;
    // The times of a bin are spread evenly; all count as hits at the capacity of their middle.
    const auto w = static_cast<double>(width);
    const auto n = static_cast<double>(mass);
    const double half = (w - 1) / 2;
    double middle = depth + half * longer - n * half * (half + 1) / (2 * w);
    if (model == DepthModel::kAverageEviction) middle += measured - (longer - n * half / w);
    depth += w * longer - n * (w + 1) / 2;
    longer -= n;
    from = lowest + width;

    const double capacity = std::floor(middle / measured) + 1;
    hits += n;
    if (curve.capacity.empty() || curve.capacity.back() < capacity) {
      curve.capacity.push_back(capacity);
      curve.hits.emplace_back();
    }
    curve.hits.back() = curve.accesses * (hits / measured);
  });
  return curve;
}

}  // namespace mcsim
