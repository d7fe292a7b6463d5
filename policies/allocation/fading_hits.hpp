#pragma once

#include <vector>

#include "policies/allocation/best_division.hpp"

namespace mcsim {

// Exponentially decaying sums of the hits of fixed partitions, by size. A sum halves every
// `half_life` intervals; with half-life 0 it does not decay.
struct FadingHits {
  double half_life = 0;
  double weight = 0;  // sum of the weights of all intervals so far
  HitTable sums;

  // Add an interval. The sums of departed VMs become 0.
  void add(const HitTable& last, const std::vector<bool>& departed);
};

}  // namespace mcsim
