#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/distances/last_references.hpp"
#include "core/locality/estimator.hpp"
#include "core/locality/profile/reuse_intensity.hpp"

namespace mcsim {

// Denning's average working-set sizes s(T): the distinct blocks among the last T
// references, averaged over all references. A reference keeps its block in the
// set for T references or until the block's next one, so that s(T) follows from
// the reuse times: exactly, ends of the stream included (Denning and Slutz 1978).
// O(log windows) per reference.
class WorkingSet {
 public:
  // Window lengths in references, > 0, in any order.
  explicit WorkingSet(std::vector<Count> windows);

  void process(std::span<const std::uint64_t> keys);
  // s(T) of each window, in the order given; 0 for an empty stream.
  std::vector<double> average() const;

 private:
  std::vector<Count> windows_;
  std::vector<Count> bounds_;  // the windows, increasing
  // Reuse times in (bounds_[i - 1], bounds_[i]], and beyond the last.
  std::vector<Count> times_;
  std::vector<double> sum_;
  LastReferences last_;
  Count now_ = 0;
};

// Distinct blocks of every interval, counted from the first reference, empty ones
// included. References without times are one nanosecond apart. By HyperLogLog of
// `precision` or exactly; fails if the interval is not positive.
absl::StatusOr<std::vector<double>> distinct_per_interval(const References& references,
                                                          Nanoseconds interval,
                                                          UniqueCounter unique, int precision = 12);

}  // namespace mcsim
