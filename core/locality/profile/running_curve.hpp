#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"
#include "core/locality/profile/distance_log.hpp"

namespace mcsim {

// A hit curve that goes with the time: what an interval counted is added to it, or taken away
// again, at the cost of that alone, and nothing is copied. Counts lie by distance, and so many
// together have a sum; hits() adds up the sums before a capacity, kept added up, and the few
// counts that are left. Eight bytes for each distance up to the largest.
class RunningCurve {
 public:
  // Counts in any order. Distances >= `limit`, if that is not 0, are left out: they hit at no
  // capacity.
  void add(std::span<const DistanceCount> counts, Count limit = 0);
  void remove(std::span<const DistanceCount> counts, Count limit = 0);
  // Of how many accesses this is the curve.
  void set_accesses(Count accesses) { accesses_ = accesses; }

  // Hits of LRU(capacity): accesses with distance < capacity.
  Count hits(Count capacity) const;
  // hits(capacity) / accesses; 0 if there were none.
  double ratio(Count capacity) const;
  Count accesses() const { return accesses_; }
  // No capacity hits more than this one, which may be larger than it must.
  Count reach() const { return static_cast<Count>(counts_.size()); }
  // The smallest capacity at which no larger one hits more.
  Count saturation() const;
  // The smallest capacity with hits(capacity) >= wanted, or -1 if none has.
  Count capacity_for(Count wanted) const;
  // As it is now.
  HitCurve curve() const;

 private:
  static constexpr std::size_t kTogether = 128;

  void change(std::span<const DistanceCount> counts, Count limit, Count sign);

  std::vector<Count> counts_;  // by distance; a multiple of kTogether
  std::vector<Count> sums_;    // of kTogether counts each
  std::vector<Count> before_;  // of all sums before; last, of all
  Count accesses_ = 0;
};

}  // namespace mcsim
