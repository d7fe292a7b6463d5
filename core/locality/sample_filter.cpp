#include "core/locality/sample_filter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mcsim {
namespace {

std::uint64_t limit_of(double rate) {
  if (rate >= 1) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(std::max(1.0, std::ldexp(rate, 64))) - 1;
}

}  // namespace

const SampleFilterLoops& sample_filter_loops(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return avx512::kSampleFilterLoops;
    case Isa::kAvx2:
      return avx2::kSampleFilterLoops;
    case Isa::kPortable:
      break;
  }
  return portable::kSampleFilterLoops;
}

SpatialFilter::SpatialFilter(double rate, std::uint64_t seed)
    : salt_(mix64(seed)), limit_(limit_of(rate)), loops_(&sample_filter_loops(isa())) {}

double SpatialFilter::rate() const { return std::ldexp(static_cast<double>(limit_) + 1, -64); }

std::size_t SpatialFilter::select(std::span<const std::uint64_t> keys,
                                  std::span<std::uint64_t> out) const {
  return loops_->keys(keys.data(), keys.size(), salt_, limit_, out.data());
}

std::size_t SpatialFilter::select(std::span<const std::uint32_t> ids,
                                  std::span<std::uint32_t> out) const {
  return loops_->ids(ids.data(), ids.size(), salt_, limit_, out.data());
}

Count miniature_capacity(Count blocks, double rate) {
  return std::max<Count>(1, std::llround(static_cast<double>(blocks) * rate));
}

}  // namespace mcsim
