#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mcsim {

// A set of the numbers [0, n) that is emptied in O(1): a number is in it if it
// was inserted in the current epoch. Four bytes a number.
class EpochSet {
 public:
  explicit EpochSet(std::size_t n = 0) : epoch_of_(n, 0) {}

  // True if `number` was not in the set yet.
  bool insert(std::size_t number) {
    const bool is_new = epoch_of_[number] != epoch_;
    epoch_of_[number] = epoch_;
    return is_new;
  }

  void clear() {
    if (epoch_ == std::numeric_limits<std::uint32_t>::max()) {
      std::fill(epoch_of_.begin(), epoch_of_.end(), 0U);
      epoch_ = 0;
    }
    ++epoch_;
  }

 private:
  std::vector<std::uint32_t> epoch_of_;
  std::uint32_t epoch_ = 1;
};

}  // namespace mcsim
