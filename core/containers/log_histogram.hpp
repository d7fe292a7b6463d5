#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/log_linear_bins.hpp"

namespace mcsim {

// A histogram of whole numbers in LogLinearBins, with `bins` bins for every doubling. Eight bytes a
// bin, up to the largest number added. O(1) per number.
template <class Mass>
class LogHistogram {
 public:
  static constexpr Count kMostBins = Count{1} << 24;

  // `bins` in [1, kMostBins] is rounded up to a power of two.
  explicit LogHistogram(Count bins)
      : bins_{std::countr_zero(std::bit_ceil(static_cast<std::uint64_t>(bins)))} {}

  // `number` >= 0.
  void add(Count number, Mass mass) {
    const std::size_t bin = bins_.index(static_cast<std::uint64_t>(number));
    if (bin >= mass_.size()) mass_.resize(bin + 1);
    mass_[bin] += mass;
  }

  // Call visit(lowest number, count of numbers, mass) for every bin that has mass, in increasing
  // order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t bin = 0; bin < mass_.size(); ++bin) {
      if (mass_[bin] == Mass{}) continue;
      const std::uint64_t lowest = bins_.lowest(bin);
      visit(static_cast<Count>(lowest), static_cast<Count>(bins_.lowest(bin + 1) - lowest),
            mass_[bin]);
    }
  }

  std::size_t bytes() const { return mass_.capacity() * sizeof(Mass); }

 private:
  LogLinearBins bins_;
  std::vector<Mass> mass_;
};

}  // namespace mcsim
