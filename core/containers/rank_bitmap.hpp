#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/fenwick.hpp"

namespace mcsim {

// A bitmap that starts full, only loses bits, and counts how many are left up to
// a position. A Fenwick tree keeps the counts of whole words, a popcount the
// rest. O(log n) per call, two bits of memory a position.
class RankBitmap {
 public:
  // At least `n` positions, all set. O(n / 64).
  void fill(std::size_t n) {
    words_.assign((n + kWordBits - 1) / kWordBits, ~std::uint64_t{0});
    counts_.assign(words_.size(), kWordBits);
  }

  std::size_t size() const { return words_.size() * kWordBits; }

  // Set bits at [0, position].
  Count rank(std::size_t position) const {
    const std::size_t word = position / kWordBits;
    const std::uint64_t upto = words_[word] << (kWordBits - 1 - position % kWordBits);
    return counts_.prefix(word) + std::popcount(upto);
  }

  // Clears the bit at `position`, which must be set.
  void clear(std::size_t position) {
    const std::size_t word = position / kWordBits;
    words_[word] &= ~(std::uint64_t{1} << (position % kWordBits));
    counts_.add(word, -1);
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  std::vector<std::uint64_t> words_;
  FenwickTree<Count> counts_;
};

}  // namespace mcsim
