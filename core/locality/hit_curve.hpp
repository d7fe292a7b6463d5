#pragma once

#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// How often each reuse distance occurred, and how many accesses were cold
// (a distance is the number of distinct other blocks touched since the
// last access to the same block). Sparse: only distances that occurred.
struct DistanceHistogram {
  std::vector<Count> distance;  // strictly increasing
  std::vector<Count> count;     // > 0, one per distance
  Count cold = 0;

  Count accesses() const;  // Σ count + cold
  // Adds the counts of `other`: the histogram of two streams that do not meet.
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
  // This curve known at `capacities` alone (increasing): exact there, and between
  // two of them what the smaller one hits.
  HitCurve sampled(std::span<const Count> capacities) const;
  Count accesses() const { return accesses_; }
  // The smallest capacity at which no larger one hits more.
  Count saturation() const { return distance_.empty() ? 0 : distance_.back() + 1; }
  // The smallest capacity with hits(capacity) >= wanted, or -1 if none has.
  Count capacity_for(Count wanted) const;
  // Adds the hits of `other` at every capacity: both streams, each with a cache
  // of that capacity to itself.
  void merge(const HitCurve& other);

  // The steps: cumulative()[i] accesses have a distance <= distances()[i].
  std::span<const Count> distances() const { return distance_; }
  std::span<const Count> cumulative() const { return cumulative_; }
  // The histogram this is the curve of.
  DistanceHistogram histogram() const;
  friend bool operator==(const HitCurve&, const HitCurve&) = default;

 private:
  std::vector<Count> distance_;    // strictly increasing
  std::vector<Count> cumulative_;  // accesses with distance <= distance_[i]
  Count accesses_ = 0;
};

}  // namespace mcsim
