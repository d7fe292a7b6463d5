#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A histogram of whole numbers whose bins grow with the number: `bins` for every
// doubling, so that a number is known to one part in `bins`, and exactly below
// 2 * bins. Eight bytes a bin, up to the largest number met. O(1) per number.
template <class Mass>
class LogHistogram {
 public:
  static constexpr Count kMostBins = Count{1} << 24;

  // `bins` in [1, kMostBins] is rounded up to a power of two.
  explicit LogHistogram(Count bins)
      : bits_(std::countr_zero(std::bit_ceil(static_cast<std::uint64_t>(bins)))) {}

  // `number` >= 0.
  void add(Count number, Mass mass) {
    const std::size_t bin = bin_of(static_cast<std::uint64_t>(number));
    if (bin >= mass_.size()) mass_.resize(bin + 1);
    mass_[bin] += mass;
  }

  // Calls visit(lowest number, how many numbers, mass) for every bin that has
  // mass, in increasing order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t bin = 0; bin < mass_.size(); ++bin) {
      if (mass_[bin] == Mass{}) continue;
      const int shift = std::max(0, static_cast<int>(bin >> bits_) - 1);
      const std::size_t mantissa = bin - (static_cast<std::size_t>(shift) << bits_);
      visit(static_cast<Count>(mantissa << shift), Count{1} << shift, mass_[bin]);
    }
  }

  std::size_t bytes() const { return mass_.capacity() * sizeof(Mass); }

 private:
  // The number's leading bits, after a count of the bits that were dropped.
  std::size_t bin_of(std::uint64_t number) const {
    const int shift = std::max(0, static_cast<int>(std::bit_width(number)) - 1 - bits_);
    return (static_cast<std::size_t>(shift) << bits_) + (number >> shift);
  }

  int bits_;  // log2 of the bins in a doubling
  std::vector<Mass> mass_;
};

}  // namespace mcsim
