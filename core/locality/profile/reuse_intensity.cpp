#include "core/locality/profile/reuse_intensity.hpp"

#include <cassert>
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
  assert(window > 0 && unique > 0);
  const double seconds = static_cast<double>(window) / static_cast<double>(kSecond);
  return static_cast<double>(accesses) / (seconds * static_cast<double>(unique));
}

WindowCounter::WindowCounter(UniqueCounter unique) {
  if (unique == UniqueCounter::kHyperLogLog) {
    sketch_.emplace(HyperLogLog::precision_for(kSketchError).value());
  }
}

void WindowCounter::count(std::span<const Count> distances, std::span<const std::uint32_t> blocks) {
  assert(!sketch_ || blocks.size() == distances.size());
  Count unique = unique_;
  if (sketch_) {
    // The number of discards separates accesses to a block before and after a discard.
    const std::uint64_t first = discards_ << 32;
    stack_.add_all(distances, [&](std::size_t i, bool fresh) {
      if (!fresh) return;
      sketch_->add(first + blocks[i]);
      ++unique;
    });
  } else {
    stack_.add_all(distances, [&](std::size_t, bool fresh) { unique += fresh ? 1 : 0; });
  }
  unique_ = unique;
  accesses_ += static_cast<Count>(distances.size());
}

void WindowCounter::discard(Count depth) { discards_ += stack_.remove(depth) ? 1 : 0; }

Count WindowCounter::unique() const {
  return sketch_ ? std::llround(sketch_->estimate()) : unique_;
}

void WindowCounter::clear() {
  if (accesses_ == 0) return;
  if (sketch_) sketch_->clear();
  accesses_ = 0;
  unique_ = 0;
  stack_ = {};
  discards_ = 0;
}

}  // namespace mcsim
