#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mcsim {

// A list in order of use whose elements are found by position: "the k-th most
// recently used, and move it to the front", the step of an LRU-stack model.
//
// Elements sit in slots in order of their last use; a bitmap marks the slots in
// use and a Fenwick tree counts them per 512 slots. Moving an element clears
// its slot and takes the next one at the end. When the slots run out the
// elements are packed to the start, which is paid for by the moves since.
//
// Cost: O(log n) a move, dominated by the one cache miss on the element; about
// 2 to 4 slots an element.
template <class T>
class RecencyList {
 public:
  RecencyList() { rebuild(); }

  std::size_t size() const { return size_; }

  void push_front(T value) {
    if (next_ == slots_.size()) rebuild();
    slots_[next_] = std::move(value);
    bits_[next_ / kWordBits] |= std::uint64_t{1} << (next_ % kWordBits);
    add(next_ / kGroupSlots, 1);
    ++next_;
    ++size_;
  }

  // The element at position k, counted from the most recent as 0; k < size().
  const T& at(std::size_t k) const { return slots_[slot_of(k)]; }

  // The same, and makes it the most recent.
  T move_to_front(std::size_t k) {
    const std::size_t slot = slot_of(k);
    T value = std::move(slots_[slot]);
    bits_[slot / kWordBits] &= ~(std::uint64_t{1} << (slot % kWordBits));
    add(slot / kGroupSlots, -1);
    --size_;
    push_front(value);
    return value;
  }

 private:
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kGroupSlots = 512;
  static constexpr std::size_t kLeastSlots = 4096;

  std::size_t slot_of(std::size_t k) const {
    std::uint32_t before = static_cast<std::uint32_t>(size_ - 1 - k);  // older elements
    std::size_t group = 0;
    for (std::size_t step = std::bit_floor(counts_.size() - 1); step != 0; step /= 2) {
      if (group + step < counts_.size() && counts_[group + step] <= before) {
        group += step;
        before -= counts_[group];
      }
    }
    std::size_t word = group * (kGroupSlots / kWordBits);
    for (;; ++word) {
      const auto used = static_cast<std::uint32_t>(std::popcount(bits_[word]));
      if (before < used) break;
      before -= used;
    }
    return word * kWordBits + nth_set_bit(bits_[word], before);
  }

  static std::size_t nth_set_bit(std::uint64_t bits, std::uint32_t n) {
    std::size_t base = 0;
    for (unsigned width = 32; width != 0; width /= 2) {
      const std::uint64_t low = bits & ((std::uint64_t{1} << width) - 1);
      const auto used = static_cast<std::uint32_t>(std::popcount(low));
      if (n < used) {
        bits = low;
      } else {
        n -= used;
        bits >>= width;
        base += width;
      }
    }
    return base;
  }

  void add(std::size_t group, int delta) {
    for (std::size_t i = group + 1; i < counts_.size(); i += i & -i) {
      counts_[i] += static_cast<std::uint32_t>(delta);
    }
  }

  // Packs the elements to the start of twice to four times as many slots.
  void rebuild() {
    std::size_t packed = 0;
    for (std::size_t slot = 0; slot < next_; ++slot) {
      if ((bits_[slot / kWordBits] >> (slot % kWordBits) & 1) != 0) {
        if (packed != slot) slots_[packed] = std::move(slots_[slot]);
        ++packed;
      }
    }
    next_ = packed;
    slots_.resize(std::max({kLeastSlots, slots_.size(), 2 * std::bit_ceil(packed)}));
    bits_.assign(slots_.size() / kWordBits, 0);
    counts_.assign(slots_.size() / kGroupSlots + 1, 0);
    for (std::size_t slot = 0; slot < packed; ++slot) {
      bits_[slot / kWordBits] |= std::uint64_t{1} << (slot % kWordBits);
      ++counts_[slot / kGroupSlots + 1];
    }
    for (std::size_t i = 1; i < counts_.size(); ++i) {
      const std::size_t parent = i + (i & -i);
      if (parent < counts_.size()) counts_[parent] += counts_[i];
    }
  }

  std::vector<T> slots_;               // by last use, oldest first
  std::vector<std::uint64_t> bits_;    // slots in use
  std::vector<std::uint32_t> counts_;  // Fenwick tree over groups of slots, from 1
  std::size_t next_ = 0;               // first slot never used since the last rebuild
  std::size_t size_ = 0;
};

}  // namespace mcsim
