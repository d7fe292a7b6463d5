#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mcsim {

// Whole numbers in bins that grow with them: numbers below 2^(bits + 1) have bins
// of their own, and from there on every doubling has 2^bits, so that a bin is at
// most 2^-bits as wide as the numbers in it.
struct LogLinearBins {
  int bits;

  // The number's leading bits, after a count of the bits that were dropped.
  constexpr std::size_t index(std::uint64_t number) const {
    const int dropped = std::max(0, static_cast<int>(std::bit_width(number)) - 1 - bits);
    return (static_cast<std::size_t>(dropped) << bits) +
           static_cast<std::size_t>(number >> dropped);
  }

  constexpr std::uint64_t lowest(std::size_t bin) const {
    const int dropped = std::max(0, static_cast<int>(bin >> bits) - 1);
    return (bin - (static_cast<std::size_t>(dropped) << bits)) << dropped;
  }
  constexpr std::uint64_t highest(std::size_t bin) const { return lowest(bin + 1) - 1; }
  constexpr double middle(std::size_t bin) const {
    return (static_cast<double>(lowest(bin)) + static_cast<double>(highest(bin))) / 2;
  }
};

}  // namespace mcsim
