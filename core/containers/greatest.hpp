#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
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
    levels_.emplace_back(count, 0);
    while (levels_.back().size() > kRow) {
      levels_.emplace_back((levels_.back().size() + kRow - 1) / kRow, 0);
    }
  }

  Count operator[](std::size_t i) const { return levels_[0][i]; }

  void set(std::size_t i, Count value) {
    for (std::size_t level = 0; true; ++level, i /= kRow) {
      const Count before = std::exchange(levels_[level][i], value);
      if (level + 1 == levels_.size()) return;
      const Count greatest = levels_[level + 1][i / kRow];
      if (value <= greatest && before < greatest) return;
      if (value < greatest) value = greatest_of(level, i / kRow);
      if (value == greatest) return;
    }
  }
  void add(std::size_t i, Count change) { set(i, levels_[0][i] + change); }

  // The first of the greatest.
  std::size_t first() const {
    std::size_t row = 0;
    for (std::size_t level = levels_.size(); level-- > 0;) row = first_of(level, row);
    return row;
  }
  // The first that is greater than `bound`; one is.
  std::size_t first_above(Count bound) const {
    std::size_t i = 0;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      i *= level + 1 == levels_.size() ? 0 : kRow;
      while (levels_[level][i] <= bound) ++i;
    }
    return i;
  }

 private:
  static constexpr std::size_t kRow = 16;

  std::pair<std::size_t, std::size_t> ends(std::size_t level, std::size_t row) const {
    return {row * kRow, std::min(row * kRow + kRow, levels_[level].size())};
  }
  // Which is the greatest nobody can guess: it is selected without branches.
  std::size_t first_of(std::size_t level, std::size_t row) const {
    const auto [begin, end] = ends(level, row);
    const Count* const values = levels_[level].data();
    std::size_t first = begin;
    Count greatest = values[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
      first = values[i] > greatest ? i : first;
      greatest = std::max(greatest, values[i]);
    }
    return first;
  }
  Count greatest_of(std::size_t level, std::size_t row) const {
    return levels_[level][first_of(level, row)];
  }

  std::vector<std::vector<Count>> levels_;
};

}  // namespace mcsim
