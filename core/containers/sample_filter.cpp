#include "core/containers/sample_filter.hpp"

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

SpatialFilter::SpatialFilter(double rate, std::uint64_t seed)
    : salt_(mix64(seed)), limit_(limit_of(rate)) {}

double SpatialFilter::rate() const { return std::ldexp(static_cast<double>(limit_) + 1, -64); }

std::size_t SpatialFilter::select(std::span<const std::uint64_t> keys,
                                  std::span<std::uint64_t> out) const {
  return with_isa(
      [&]<Isa kIsa>() { return select_sampled_keys<kIsa>(keys, salt_, limit_, out.data()); });
}

std::size_t SpatialFilter::select(std::span<const std::uint32_t> ids,
                                  std::span<std::uint32_t> out) const {
  return with_isa(
      [&]<Isa kIsa>() { return select_sampled_ids<kIsa>(ids, salt_, limit_, out.data()); });
}

Count miniature_capacity(Count blocks, double rate) {
  return std::max<Count>(1, std::llround(static_cast<double>(blocks) * rate));
}

}  // namespace mcsim
