#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// One reuse distance, and how often it occurred.
struct DistanceCount {
  std::uint32_t distance;
  std::uint32_t count;
  friend bool operator==(const DistanceCount&, const DistanceCount&) = default;
};

// The reuse distances of one VM over its whole trace, counted period by period; first accesses
// have none. They are kept apart by age: how many periods ago the block had been accessed, with
// all that are `ages` periods or more in the last list. Of age 0 are those that a period knows by
// itself; with those below a it knows of what the a periods before it held, and all together are
// what it adds to the trace so far. Eight bytes for each distance that occurred in a period.
class DistanceLog {
 public:
  explicit DistanceLog(std::size_t ages = 1) : of_age_(ages + 1) {}

  std::size_t ages() const { return of_age_.size() - 1; }
  // Of the period that the next end_period() ends. A distance may come more than once.
  void add(std::size_t age, DistanceCount counted) { of_age_[age].counts.push_back(counted); }
  // `accesses`: of how many these are the distances, first ones included.
  void end_period(Count accesses);
  // After the last period.
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
