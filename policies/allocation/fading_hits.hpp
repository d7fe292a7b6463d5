#pragma once

#include <vector>

#include "policies/allocation/best_division.hpp"

namespace mcsim {

// What fixed parts of any size would have hit, interval after interval: sums that halve in so many
// intervals; 0: that never do.
struct FadingHits {
  double half_life = 0;
  double weight = 0;  // of all intervals so far
  HitTable sums;

  // One more interval; of VMs that are gone nothing is left.
  void add(const HitTable& last, const std::vector<bool>& departed);
};

}  // namespace mcsim
