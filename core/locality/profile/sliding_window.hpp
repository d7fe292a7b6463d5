#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/distances/recent_stack.hpp"

// Windows of several periods that slide by one period.
namespace mcsim {

// Finds the period of the last access to a block, counted back from the current one.
class Ages {
 public:
  explicit Ages(std::size_t periods) : stacks_(periods) { assert(periods > 0); }

  std::size_t size() const { return stacks_.size(); }
  // Counts an access and returns its age: size() if it is older than the window or a first access.
  std::size_t of(Count distance) {
    std::size_t age = 0;
    for (RecentStack& stack : stacks_) age += stack.add(distance) ? 1 : 0;
    return age;
  }
  void remove(Count depth) {
    for (RecentStack& stack : stacks_) stack.remove(depth);
  }
  // The stack since this period began.
  RecentStack& stack() { return stacks_.front(); }
  const RecentStack& stack() const { return stacks_.front(); }
  void end_period() {
    std::shift_right(stacks_.begin(), stacks_.end(), 1);
    stacks_.front() = {};
  }

 private:
  std::vector<RecentStack> stacks_;  // since this period began, the one before it, and so on
};

// The sum of the last periods. T has += and -=.
template <class T>
class SlidingSum {
 public:
  explicit SlidingSum(std::size_t periods) : periods_(periods) {}

  // Adds a period, and removes the oldest one if the window is full.
  const T& add(const T& period) {
    assert(periods_ > 0);
    sum_ += period;
    if (last_.size() < periods_) {
      last_.push_back(period);
    } else {
      sum_ -= std::exchange(last_[oldest_], period);
      oldest_ = (oldest_ + 1) % periods_;
    }
    return sum_;
  }
  // Periods in the sum.
  std::size_t size() const { return last_.size(); }

 private:
  std::size_t periods_;
  std::vector<T> last_;
  std::size_t oldest_ = 0;
  T sum_{};
};

}  // namespace mcsim
