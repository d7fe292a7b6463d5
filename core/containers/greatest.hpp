#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// Numbers that change one at a time, and which of them is the greatest. Above the numbers
// stand the greatest of every sixteen, above those the greatest of every sixteen of them: up
// to sixteen numbers are a row that is looked through, ten thousand are four such rows.
class Greatest {
 public:
  // All zero; at least one.
  explicit Greatest(std::size_t count) {
    for (std::size_t size = count, begin = 0; true; size = (size + kRow - 1) / kRow) {
      begin_[levels_++] = begin;
      begin_[levels_] = begin += size;
      if (size <= kRow) break;
    }
    values_.resize(begin_[levels_], 0);
  }

  Count operator[](std::size_t i) const { return values_[i]; }

  void set(std::size_t i, Count value) {
    for (std::size_t level = 0; true; ++level, i /= kRow) {
      const Count before = std::exchange(values_[begin_[level] + i], value);
      if (level + 1 == levels_) return;
      const Count greatest = values_[begin_[level + 1] + i / kRow];
      if (value <= greatest && before < greatest) return;
      if (value < greatest) value = values_[begin_[level] + first_of(level, i / kRow)];
      if (value == greatest) return;
    }
  }
  void add(std::size_t i, Count change) { set(i, values_[i] + change); }

  // The first of the greatest.
  std::size_t first() const {
    std::size_t row = 0;
    for (std::size_t level = levels_; level-- > 0;) row = first_of(level, row);
    return row;
  }
  // The first that is greater than `bound`; one is.
  std::size_t first_above(Count bound) const {
    std::size_t i = 0;
    for (std::size_t level = levels_; level-- > 0;) {
      i *= kRow;
      while (values_[begin_[level] + i] <= bound) ++i;
    }
    return i;
  }

 private:
  static constexpr std::size_t kRow = 16;
  static constexpr std::size_t kMostLevels = 16;

  // Which is the greatest nobody can guess: it is selected without branches.
  std::size_t first_of(std::size_t level, std::size_t row) const {
    const Count* const values = values_.data() + begin_[level];
    const std::size_t begin = row * kRow;
    const std::size_t end = std::min(begin + kRow, begin_[level + 1] - begin_[level]);
    std::size_t first = begin;
    Count greatest = values[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
      first = values[i] > greatest ? i : first;
      greatest = std::max(greatest, values[i]);
    }
    return first;
  }

  std::size_t levels_ = 0;
  std::array<std::size_t, kMostLevels + 1> begin_{};  // of each level, and where the last ends
  std::vector<Count> values_;
};

}  // namespace mcsim
