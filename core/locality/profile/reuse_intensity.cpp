#include "core/locality/profile/reuse_intensity.hpp"

#include <cmath>

namespace mcsim {
namespace {

constexpr double kSketchError = 0.01;

}  // namespace

double reuse_intensity(Count unique, Count accesses) {
  return accesses == 0 ? 0 : 1 - static_cast<double>(unique) / static_cast<double>(accesses);
}

double reuse_intensity_per_second(Count unique, Count accesses, Nanoseconds window) {
  if (accesses == 0) return 0;
  const double seconds = static_cast<double>(window) / static_cast<double>(kSecond);
  return static_cast<double>(accesses) / (seconds * static_cast<double>(unique));
}

WindowCounter::WindowCounter(UniqueCounter unique, std::size_t blocks)
    : seen_(unique == UniqueCounter::kExact ? blocks : 0) {
  if (unique == UniqueCounter::kHyperLogLog) {
    sketch_.emplace(HyperLogLog::precision_for(kSketchError).value());
  }
}

Count WindowCounter::unique() const {
  return sketch_ ? std::llround(sketch_->estimate()) : unique_;
}

void WindowCounter::clear() {
  if (accesses_ == 0) return;
  seen_.clear();
  if (sketch_) sketch_->clear();
  accesses_ = 0;
  unique_ = 0;
}

}  // namespace mcsim
