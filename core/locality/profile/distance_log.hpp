#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A reuse distance and the number of times it occurred.
struct DistanceCount {
  std::uint32_t distance;
  std::uint32_t count;
  friend bool operator==(const DistanceCount&, const DistanceCount&) = default;
};

// The reuse distances of one VM over its whole trace, by period; first accesses have none.
// Distances are separated by age: the number of periods since the block's previous access. The last
// list has all ages of `ages` periods or more. Age 0 gives the distances within a single period,
// the ages up to a those of a window of the period and the a periods before it, and all ages
// together what the period adds to the trace so far. Eight bytes for each distance that occurred in
// a period.
class DistanceLog {
 public:
  explicit DistanceLog(std::size_t ages = 1) : of_age_(ages + 1) {}

  std::size_t ages() const { return of_age_.size() - 1; }
  // Adds to the current period, which the next end_period() closes. A distance may be added
  // repeatedly.
  void add(std::size_t age, DistanceCount counted) { of_age_[age].counts.push_back(counted); }
  // `accesses` is the number of accesses in the period, including first ones.
  void end_period(Count accesses);
  // Frees spare memory; to be called after the last period.
  void shrink_to_fit();

  std::span<const DistanceCount> of(std::size_t period, std::size_t age) const;
  Count accesses(std::size_t period) const { return accesses_[period]; }
  std::size_t periods() const { return accesses_.size(); }
  friend bool operator==(const DistanceLog&, const DistanceLog&) = default;

 private:
  struct List {
    std::vector<DistanceCount> counts;
    std::vector<std::size_t> end{0};  // one more than there are periods
    friend bool operator==(const List&, const List&) = default;
  };

  std::vector<List> of_age_;
  std::vector<Count> accesses_;
};

}  // namespace mcsim
