#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/locality/profile/distance_log.hpp"

namespace mcsim {

// A hit curve that changes over time: the counts of an interval are added or removed, at a cost
// proportional to them, without copies. Counts are stored by distance, with a sum for each group of
// kGroupSize. hits() adds the prefix sum of the groups below a capacity and the remaining counts.
// Eight bytes for each distance up to the largest.
class RunningCurve {
 public:
  // Returns a curve as a running one.
  static RunningCurve of(const HitCurve& curve, Count limit = 0);

  // Adds counts in any order. Drops distances >= `limit` unless it is 0: they hit at no capacity.
  void add(std::span<const DistanceCount> counts, Count limit = 0);
  void remove(std::span<const DistanceCount> counts, Count limit = 0);
  // Sets the number of accesses that the curve covers.
  void set_accesses(Count accesses) { accesses_ = accesses; }

  // Hits of LRU(capacity): accesses with distance < capacity.
  Count hits(Count capacity) const;
  // hits(capacity) / accesses; 0 if there were none.
  double ratio(Count capacity) const;
  Count accesses() const { return accesses_; }
  // An upper bound on the saturation.
  Count reach() const { return static_cast<Count>(counts_.size()); }
  // The smallest capacity with the maximum number of hits.
  Count saturation() const;
  // The smallest capacity with hits(capacity) >= wanted, or -1 if none has.
  Count capacity_for(Count wanted) const;
  // A copy of the current curve.
  HitCurve curve() const;

 private:
  static constexpr std::size_t kGroupSize = 128;

  void change(std::span<const DistanceCount> counts, Count limit, Count sign);

  std::vector<Count> counts_;  // by distance; a multiple of kGroupSize
  std::vector<Count> sums_;    // of each group of kGroupSize counts
  std::vector<Count> before_;  // prefix sums of sums_; the last entry is the total
  Count accesses_ = 0;
};

}  // namespace mcsim
