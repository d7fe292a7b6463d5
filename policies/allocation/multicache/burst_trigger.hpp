#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/locality/profile/meters.hpp"

namespace mcsim {

// Detect windows in which a burst begins: the reuse intensity of a VM reaches a level, and was
// below it in the window before. Level 0 detects none.
class BurstTrigger {
 public:
  // Check that the curves cover a whole number of windows, and no more windows than a curve can
  // separate.
  static absl::Status check(double level, Nanoseconds window, Nanoseconds covered) {
    constexpr Nanoseconds kMostWindows = 256;
    if (level == 0 || (covered % window == 0 && covered / window <= kMostWindows)) {
      return absl::OkStatus();
    }
    return invalid_argument(
        "ri_trigger: rd_interval must be 1 to {} times ri_window, got {} and {}", kMostWindows,
        covered, window);
  }

  explicit BurstTrigger(double level) : level_(level) {}

  bool enabled() const { return level_ > 0; }

  // Return whether a burst begins in the window of these intensities, which are by VM.
  bool fires(std::span<const Intensity> intensities) {
    bursting_.resize(intensities.size(), false);
    bool begins = false;
    for (std::size_t vm = 0; vm < intensities.size(); ++vm) {
      const bool bursts = intensities[vm].value >= level_;
      begins |= bursts && !bursting_[vm];
      bursting_[vm] = bursts;
    }
    return begins;
  }

 private:
  double level_;
  std::vector<bool> bursting_;  // by VM, in the last window
};

}  // namespace mcsim
