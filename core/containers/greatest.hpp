#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// Amounts below 2^32 that change one at a time, and which of them is the greatest.
//
// An amount and its place are one word, so that of two words the greater has the greater amount,
// of equal ones the first. Above the words stand the greatest of every sixteen, above those the
// greatest of every sixteen of them, up to one. A change goes up as far as it matters: an amount
// that grew is compared, one that was its row's greatest and shrank has the row looked through.
//
// The change that came last is not told upwards before another amount changes: what one gets and
// gives again concerns nobody.
class Greatest {
 public:
  // All zero; at least one, at most 2^32.
  explicit Greatest(std::size_t count) {
    std::size_t words = 0;
    for (std::size_t size = count; true; size = (size + kRow - 1) / kRow) {
      begin_[levels_++] = words;
      words += (size + kRow - 1) / kRow * kRow;
      if (size == 1) break;
    }
    words_.resize(words, 0);
    for (std::size_t i = 0; i < count; ++i) {
      last_ = i;
      now_ = word(i, 0);
      tell();
    }
  }

  Count operator[](std::size_t i) const { return amount(i == last_ ? now_ : words_[i]); }

  void set(std::size_t i, Count amount) {
    if (i != last_) {
      tell();
      last_ = i;
    }
    now_ = word(i, amount);
  }

  // The first of the greatest.
  std::size_t first() {
    if (now_ < words_[last_]) tell();
    return place(std::max(now_, words_[begin_[levels_ - 1]]));
  }
  // The first that is greater than `bound`; one is.
  std::size_t first_above(Count bound) {
    tell();
    std::size_t i = 0;
    for (std::size_t level = levels_ - 1; level-- > 0;) {
      i *= kRow;
      while (amount(words_[begin_[level] + i]) <= bound) ++i;
    }
    return i;
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t kRow = 16;
  static constexpr std::size_t kMostLevels = 9;

  static Word word(std::size_t i, Count amount) {
    return static_cast<Word>(amount) << 32 | static_cast<std::uint32_t>(~i);
  }
  static Count amount(Word word) { return static_cast<Count>(word >> 32); }
  static std::size_t place(Word word) { return static_cast<std::uint32_t>(~word); }

  void tell() {
    std::size_t i = last_;
    Word word = now_;
    for (std::size_t level = 0; true; ++level, i /= kRow) {
      const Word before = std::exchange(words_[begin_[level] + i], word);
      if (level + 1 == levels_) return;
      const Word above = words_[begin_[level + 1] + i / kRow];
      if (word > above) continue;
      if (before != above || word == before) return;
      word = greatest_of_row(begin_[level] + i / kRow * kRow);
    }
  }

  // Which is the greatest nobody can guess: it is selected without branches, four at a time.
  Word greatest_of_row(std::size_t begin) const {
    std::array<Word, 4> greatest{};
    for (std::size_t i = 0; i < kRow; i += 4) {
      for (std::size_t k = 0; k < 4; ++k) {
        greatest[k] = std::max(greatest[k], words_[begin + i + k]);
      }
    }
    return std::max(std::max(greatest[0], greatest[1]), std::max(greatest[2], greatest[3]));
  }

  std::size_t levels_ = 0;
  std::array<std::size_t, kMostLevels> begin_{};  // of each level; the last has one word
  std::vector<Word> words_;                       // rows are whole: beyond the last, the least
  std::size_t last_ = 0;                          // the amount that changed last,
  Word now_ = 0;                                  // and what it is
};

}  // namespace mcsim
