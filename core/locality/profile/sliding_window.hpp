#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/types.hpp"
#include "core/locality/distances/reuse_distance.hpp"

// Windows of several periods that slide by one period.
namespace mcsim {

// Finds the period of the last access to a block, counted back from the current one.
class Ages {
 public:
  explicit Ages(std::size_t periods) : distinct_(periods) { assert(periods > 0); }

  std::size_t size() const { return distinct_.size(); }
  // Counts an access and returns its age: size() if it is older than the window or a first access.
  std::size_t of(Count distance) {
    std::size_t age = 0;
    for (Count& distinct : distinct_) {
      const bool fresh = is_new(distance, distinct);
      age += fresh ? 1 : 0;
      distinct += fresh ? 1 : 0;
    }
    return age;
  }
  // Distinct blocks since this period began.
  Count& distinct() { return distinct_.front(); }
  void end_period() {
    std::shift_right(distinct_.begin(), distinct_.end(), 1);
    distinct_.front() = 0;
  }

 private:
  std::vector<Count> distinct_;  // since this period began, the one before it, and so on
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
