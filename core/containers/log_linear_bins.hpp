#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace mcsim {

// Bins of whole numbers with growing widths: numbers below 2^(bits + 1) have one bin each, and
// every doubling above has 2^bits bins. So a bin is at most 2^-bits times as wide as the numbers in
// it.
struct LogLinearBins {
  int bits;

  // The leading bits of the number, plus the count of dropped bits shifted by `bits`.
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
