#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// How often each reuse distance occurred, and the number of cold accesses. A distance is the number
// of distinct other blocks accessed since the previous access to the same block. Sparse: only
// distances that occurred.
struct DistanceHistogram {
  std::vector<Count> distance;  // strictly increasing
  std::vector<Count> count;     // > 0, one per distance
  Count cold = 0;

  Count accesses() const;  // Σ count + cold
  // Adds the counts of `other`; the sum is the histogram of two streams without common blocks.
  void merge(const DistanceHistogram& other);
  // Distances >= limit become cold (a truncated histogram).
  void truncate(Count limit);
  friend bool operator==(const DistanceHistogram&, const DistanceHistogram&) = default;
};

// H(c): the share of accesses that an LRU cache of c blocks hits. Exact: a step
// function that counts distances < c.
class HitCurve {
 public:
  HitCurve() = default;
  explicit HitCurve(DistanceHistogram histogram);

  // Hits of LRU(capacity): accesses with distance < capacity.
  Count hits(Count capacity) const;
  // hits(capacity) / accesses; 0 if there were none.
  double ratio(Count capacity) const;
  // hits() of each capacity, in any order.
  std::vector<Count> points(std::span<const Count> capacities) const;
  // This curve sampled at `capacities` (increasing): exact there, and between two of them the hits
  // of the smaller one.
  HitCurve sampled(std::span<const Count> capacities) const;
  Count accesses() const { return accesses_; }
  // The smallest capacity with the maximum number of hits.
  Count saturation() const { return distance_.empty() ? 0 : distance_.back() + 1; }
  // The smallest capacity with hits(capacity) >= wanted, or -1 if none has.
  Count capacity_for(Count wanted) const;
  // Adds the hits of `other` at every capacity, as if each stream had its own cache of that
  // capacity.
  void merge(const HitCurve& other);

  // The steps: cumulative()[i] accesses have a distance <= distances()[i].
  std::span<const Count> distances() const { return distance_; }
  std::span<const Count> cumulative() const { return cumulative_; }
  // The histogram of this curve.
  DistanceHistogram histogram() const;
  friend bool operator==(const HitCurve&, const HitCurve&) = default;

 private:
  std::vector<Count> distance_;    // strictly increasing
  std::vector<Count> cumulative_;  // accesses with distance <= distance_[i]
  Count accesses_ = 0;
};

}  // namespace mcsim
