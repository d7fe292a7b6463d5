#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// Amounts in [-2^43, 2^43) that change one at a time, with a query for the maximum.
//
// An amount and its index are packed into one word, so that the greater word has the greater amount
// and, among equal amounts, the smaller index. A tree above the words stores the maximum of each
// row of sixteen, level by level, up to a single row of at most sixteen, which every query scans.
// An update climbs only as far as necessary: an amount that grew is compared; if the maximum of a
// row shrank, the row is scanned.
//
// If there is more than one level, the last change is deferred until another amount changes. So an
// amount that rises and falls again does not update the tree.
class MaxTracker {
 public:
  // Callers limit amounts to this magnitude and may then change them by 2^42 in total.
  static constexpr Count kLimit = Count{1} << 42;

  // `count` amounts of zero; 1 <= count <= 2^20.
  explicit MaxTracker(std::size_t count) {
    assert(count >= 1 && count <= std::size_t{1} << kIndexBits);
    std::size_t words = 0;
    for (std::size_t size = count; true; size = (size + kRow - 1) / kRow) {
      begin_[levels_++] = words;
      words += (size + kRow - 1) / kRow * kRow;
      if (size > kRow) continue;
      top_size_ = (size + kLanes - 1) / kLanes * kLanes;
      break;
    }
    words_.resize(words, kLeast);
    for (std::size_t i = 0; i < count; ++i) set(i, 0);
  }

  Count operator[](std::size_t i) const { return amount(now(i)); }

  [[gnu::always_inline]] void set(std::size_t i, Count amount) {
    if (levels_ == 1) {
      words_[i] = word(i, amount);
    } else {
      defer(i, word(i, amount));
    }
  }

  [[gnu::always_inline]] void add(std::size_t i, Count change) {
    if (levels_ == 1) {
      words_[i] += change * kOne;
    } else {
      defer(i, now(i) + change * kOne);
    }
  }

  // The smallest index with the maximum.
  [[gnu::always_inline]] std::size_t first() { return place(greatest()); }
  // The same if amount i were one greater.
  [[gnu::always_inline]] std::size_t first_with_one_more(std::size_t i) {
    return place(std::max(greatest(), now(i) + kOne));
  }
  // The smallest index whose amount is greater than `bound`; there must be one.
  std::size_t first_above(Count bound) {
    assert(amount(greatest()) > bound);
    flush();
    std::size_t i = 0;
    for (std::size_t level = levels_; level-- > 0;) {
      i *= kRow;
      while (amount(words_[begin_[level] + i]) <= bound) ++i;
    }
    return i;
  }

 private:
  using Word = std::int64_t;
  static constexpr int kIndexBits = 20;
  static constexpr Word kOne = Word{1} << kIndexBits;  // an amount of 1 in a word
  static constexpr Word kLeast = std::numeric_limits<Word>::min();
  static constexpr std::size_t kRow = 16;
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kMostLevels = 8;

  static Word word(std::size_t i, Count amount) {
    assert(amount >= -2 * kLimit && amount < 2 * kLimit);
    return amount * kOne + (kOne - 1 - static_cast<Word>(i));
  }
  static Count amount(Word word) { return word >> kIndexBits; }
  static std::size_t place(Word word) { return static_cast<std::size_t>(~word & (kOne - 1)); }

  [[gnu::always_inline]] Word greatest() {
    return levels_ == 1 ? greatest_of(0, top_size_) : greatest_of_many();
  }
  Word now(std::size_t i) const { return levels_ > 1 && i == last_ ? now_ : words_[i]; }
  void defer(std::size_t i, Word word) {
    if (i != last_) {
      flush();
      last_ = i;
    }
    now_ = word;
  }
  Word greatest_of_many() {
    if (now_ < words_[last_]) flush();
    return std::max(now_, greatest_of(begin_[levels_ - 1], top_size_));
  }

  void flush() {
    if (levels_ == 1) return;
    std::size_t i = last_;
    Word word = now_;
    for (std::size_t level = 0; true; ++level, i /= kRow) {
      const Word before = std::exchange(words_[begin_[level] + i], word);
      if (level + 1 == levels_) return;
      const Word above = words_[begin_[level + 1] + i / kRow];
      if (word > above) continue;
      if (before != above || word == before) return;
      word = greatest_of(begin_[level] + i / kRow * kRow, kRow);
    }
  }

  // The position of the maximum is unpredictable, so it is selected without branches, in lanes.
  [[gnu::always_inline]] Word greatest_of(std::size_t begin, std::size_t count) const {
    std::array<Word, kLanes> greatest;
    greatest.fill(kLeast);
    for (std::size_t i = 0; i < count; i += kLanes) {
      for (std::size_t k = 0; k < kLanes; ++k) {
        greatest[k] = std::max(greatest[k], words_[begin + i + k]);
      }
    }
    return std::max(std::max(greatest[0], greatest[1]), std::max(greatest[2], greatest[3]));
  }

  std::size_t levels_ = 0;
  std::array<std::size_t, kMostLevels> begin_{};  // start of each level
  std::size_t top_size_ = 0;                      // words to scan in the top level
  std::vector<Word> words_;                       // rows are whole: padded with kLeast
  std::size_t last_ = 0;                          // the index of the amount that changed last,
  Word now_ = 0;                                  // and its word, if its update is deferred
};

}  // namespace mcsim
