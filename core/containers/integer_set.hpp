#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/pages.hpp"

namespace mcsim {

// A set of numbers below a bound with a query for its largest: a bitmap, and above it bitmaps of
// the nonempty words of the level below (a van Emde Boas tree with 64 branches a node). A handful
// of steps an operation; 1.02 bits a number.
class IntegerSet {
 public:
  explicit IntegerSet(std::size_t bound) {
    for (std::size_t bits = bound; levels_.empty() || bits > 1;) {
      bits = (bits + 63) / 64;
      levels_.emplace_back(bits);
    }
  }

  bool contains(std::size_t number) const {
    return (levels_[0][number / 64] >> (number % 64) & 1) != 0;
  }

  void insert(std::size_t number) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[number / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << (number % 64);
      if (!was_empty) return;
      number /= 64;
    }
  }

  void erase(std::size_t number) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[number / 64];
      word &= ~(std::uint64_t{1} << (number % 64));
      if (word != 0) return;
      number /= 64;
    }
  }

  // The set must not be empty.
  std::size_t largest() const {
    assert(levels_.back()[0] != 0);
    std::size_t number = 0;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      number = number * 64 + static_cast<std::size_t>(std::bit_width((*level)[number]) - 1);
    }
    return number;
  }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& level : levels_) total += level.size() * sizeof(std::uint64_t);
    return total;
  }

 private:
  std::vector<Pages<std::uint64_t>> levels_;  // the finest first
};

}  // namespace mcsim
