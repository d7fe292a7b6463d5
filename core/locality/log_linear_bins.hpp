#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mcsim {

// Numbers in bins: one each up to 2^(kBits + 1), from there on 2^kBits to every
// doubling, so that no bin is wider than its numbers / 2^kBits. All from 2^40 on
// share the last one.
template <int kBits>
struct LogLinearBins {
  static constexpr int kMaxBits = 40;
  static constexpr std::size_t kCount = std::size_t{kMaxBits - kBits + 1} << kBits;

  static constexpr std::size_t index(std::uint64_t x) {
    x = std::min(x, (std::uint64_t{1} << kMaxBits) - 1);
    const int shift = std::max(0, static_cast<int>(std::bit_width(x)) - 1 - kBits);
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(x >> shift);
  }

  // The smallest number of a bin; that of bin kCount is where the last one ends.
  static constexpr std::uint64_t lower(std::size_t index) {
    if (index < (std::size_t{2} << kBits)) return index;
    const std::size_t shift = (index >> kBits) - 1;
    return (index - (shift << kBits)) << shift;
  }

  // The middle of its numbers.
  static constexpr double middle(std::size_t index) {
    return (static_cast<double>(lower(index)) + static_cast<double>(lower(index + 1) - 1)) / 2;
  }
};

}  // namespace mcsim
