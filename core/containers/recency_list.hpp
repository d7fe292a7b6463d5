#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/wraps.hpp"

namespace mcsim {

namespace recency_list_internal {

inline constexpr std::uint64_t kEveryByte = 0x0101010101010101;
inline constexpr std::uint64_t kEveryHalf = 0x0001000100010001;  // 16-bit lanes

// Position of the n-th set bit of a byte, at [n][byte].
inline constexpr auto kBitOfByte = [] {
  std::array<std::array<std::uint8_t, 256>, 8> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned n = 0;
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) != 0) table[n++][byte] = static_cast<std::uint8_t>(bit);
    }
  }
  return table;
}();

// Position of the n-th set bit, counted from the lowest as 0; n < popcount. The bits of all bytes
// are counted in parallel (Vigna, "Broadword implementation of rank/select queries", 2008).
MCSIM_WRAPS inline std::size_t nth_set_bit(std::uint64_t bits, std::uint64_t n) {
  assert(n < static_cast<std::uint64_t>(std::popcount(bits)));
  std::uint64_t counts = bits - (bits >> 1 & 0x5555555555555555);
  counts = (counts & 0x3333333333333333) + (counts >> 2 & 0x3333333333333333);
  counts = (counts + (counts >> 4)) & 0x0f0f0f0f0f0f0f0f;
  const std::uint64_t up_to = counts * kEveryByte;  // bits in this byte and those below
  const std::uint64_t passed = (((n * kEveryByte) | kEveryByte << 7) - up_to) >> 7 & kEveryByte;
  const std::uint64_t byte = passed * kEveryByte >> 56;
  const std::uint64_t below = (up_to << 8) >> (8 * byte) & 0xff;
  return 8 * byte + kBitOfByte[n - below][bits >> (8 * byte) & 0xff];
}

}  // namespace recency_list_internal

// A list in order of use whose elements are found by position: "move the k-th most recently used to
// the front", the step of an LRU-stack model.
//
// Elements are stored in slots in the order of their last use. A bitmap marks the occupied slots
// and all free slots after them. So filling the next slot changes no count, and moving an element
// only clears the bit of its old slot. Bits are counted per 64 slots and per 256, and above those
// by a binary tree of counts of older halves: one descent finds an element and removes it. When the
// slots run out, the elements are compacted to the start; the moves since the last compaction
// amortise this.
//
// Cost: O(log n) a move and one cache miss on the element; two to four slots an
// element.
template <class T>
  requires std::is_trivially_copyable_v<T>
class RecencyList {
 public:
  RecencyList() { reset(kLeastSlots); }

  std::size_t size() const { return size_; }

  // For each i in turn, move the element at positions[i] (0 is the most recent) to the front and
  // copy it to values[i]; if the list is shorter, insert values[i] as a new element. The cache
  // misses of a batch of a few dozen overlap.
  void use(std::span<const std::size_t> positions, std::span<T> values) {
    if (next_ + positions.size() > slots_.size()) pack(positions.size());
    from_.clear();
    for (const std::size_t position : positions) {
      from_.push_back(position < size_ ? take(position) : kNew);
      ++size_;
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (from_[i] != kNew) values[i] = slots_[from_[i]];
      slots_[next_++] = values[i];
    }
  }

 private:
  static constexpr std::size_t kWordSlots = 64;
  static constexpr std::size_t kGroupSlots = 256;
  static constexpr std::size_t kGroupWords = kGroupSlots / kWordSlots;
  static constexpr std::size_t kLeastSlots = 4096;
  static constexpr std::size_t kNew = std::numeric_limits<std::size_t>::max();

  // Find the slot of the element at position k and clear its bit.
  MCSIM_WRAPS std::size_t take(std::size_t k) {
    using namespace recency_list_internal;
    std::uint64_t before = --size_ - k;  // older elements
    const std::size_t groups = words_.size();
    std::size_t node = 1;
    while (node < groups) {
      const std::uint32_t older = older_[node];
      const bool newer = older <= before;
      older_[node] = older - !newer;
      before -= newer ? older : 0;
      node = 2 * node + newer;
    }
    const std::size_t group = node - groups;
    // Both sums and ranks fit 15 bits, so lanes do not borrow from each other.
    const std::uint64_t up_to = words_[group] * kEveryHalf;
    const std::uint64_t passed =
        (((before * kEveryHalf) | kEveryHalf << 15) - up_to) >> 15 & kEveryHalf;
    const std::uint64_t word = passed * kEveryHalf >> 48;
    before -= (up_to << 16) >> (16 * word) & 0xffff;
    words_[group] -= std::uint64_t{1} << (16 * word);

    std::uint64_t& bits = bits_[group * kGroupWords + word];
    const std::size_t bit = nth_set_bit(bits, before);
    bits &= ~(std::uint64_t{1} << bit);
    return group * kGroupSlots + word * kWordSlots + bit;
  }

  bool holds(std::size_t slot) const {
    return (bits_[slot / kWordSlots] >> (slot % kWordSlots) & 1) != 0;
  }

  // Compact the slots and make room for `more` elements.
  void pack(std::size_t more) {
    std::size_t packed = 0;
    for (std::size_t slot = 0; slot < next_; ++slot) {
      slots_[packed] = slots_[slot];
      packed += holds(slot);
    }
    next_ = packed;
    reset(std::max(slots_.size(), 2 * std::bit_ceil(packed + more)));
  }

  // Mark all slots; their number is a power of two.
  void reset(std::size_t slots) {
    slots_.resize(slots);
    bits_.assign(slots / kWordSlots, ~std::uint64_t{0});
    words_.assign(slots / kGroupSlots, recency_list_internal::kEveryHalf * kWordSlots);
    older_.resize(words_.size());
    for (std::size_t node = 1; node < older_.size(); ++node) {
      older_[node] = static_cast<std::uint32_t>(slots / 2 / std::bit_floor(node));
    }
  }

  std::vector<T> slots_;              // by last use, oldest first
  std::vector<std::uint64_t> bits_;   // slots that hold an element or are free for new ones
  std::vector<std::uint64_t> words_;  // set bits of a group's four words, 16 bits each
  std::vector<std::uint32_t> older_;  // a tree over the groups: set bits in the older half
  std::vector<std::size_t> from_;     // slots of a batch
  std::size_t next_ = 0;              // the slot to fill next
  std::size_t size_ = 0;
};

}  // namespace mcsim
