#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/isa.hpp"
#include "core/base/pages.hpp"
#include "core/base/wraps.hpp"

namespace mcsim {

// A hash table from 64-bit keys to 32-bit values > 0, for tens of millions of blocks: one cache
// line a look-up, no deletion, no defined iteration order.
//
// A line has eight entries of tag and value. A bijection of 41 bits mixes the key. The top bits of
// the result select the home line; the other bits and the distance from the home line to the
// entry's line are the tag. So eight bytes store a whole key and its value (quotienting: Knuth 6.4,
// Cleary 1984). The value 0 marks an empty entry, so fresh pages need no initialisation. The table
// switches to lines of five whole keys if a key is 2^41 or larger, or if too many keys collide
// (which takes intent). Its first 896 keys are whole, in 16 KiB: quotients need a megabyte of
// lines, which would dominate the time of many small tables.
//
// 10.7 to 21.3 bytes a key, whole keys 18 to 37. The table doubles in place.
//
// The batch operations prefetch the lines of later keys. Kernels with a loop of their own use
// block_table.inl.
class BlockTable {
 public:
  BlockTable();

  // Set the value of keys[i] to values[i] > 0, which is at least `first`. The previous value, 0 if
  // there was none, is written to previous[values[i] - first].
  void exchange(std::span<const std::uint64_t> keys, std::span<const std::uint32_t> values,
                std::uint32_t first, std::uint32_t* previous);
  // Number the keys by first appearance, from 0: numbers[i] = number of keys in the table before
  // the first keys[i]. Only for tables that no other function wrote to.
  void number(std::span<const std::uint64_t> keys, std::span<std::uint32_t> numbers);
  // values[i] = the value of keys[i], 0 if it has none.
  void find(std::span<const std::uint64_t> keys, std::span<std::uint32_t> values) const;

  // Call work(key, value) for every key.
  template <class Work>
  void for_each(Work&& work) const;

  // Remove all keys. A table of up to a megabyte keeps its memory if the keys needed it.
  void clear();
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return lines_.bytes(); }

  // --- For kernels -------------------------------------------------------------

  static constexpr int kNarrowBits = 41;
  static constexpr int kDistanceBits = 5;
  static constexpr std::size_t kMaxDistance = (1 << kDistanceBits) - 1;

  bool is_wide() const { return wide_; }
  std::uint64_t* lines() const { return lines_.data(); }
  int line_bits() const { return line_bits_; }
  // Whether `more` keys fit before the table has to grow.
  bool has_room(std::size_t more) const { return size_ + more <= limit_; }
  void ensure_space(std::size_t more);
  // Make progress for a key that found no entry within kMaxDistance lines: grow, or switch to
  // whole keys if the table is nearly empty.
  void resolve_overflow();
  // Switch to whole keys.
  void widen();
  void add_to_size(std::size_t keys) { size_ += keys; }
  // Call work(value) with a reference to every value > 0.
  template <class Work>
  void for_each_value(Work&& work);

  // The bijections and their inverses.
  static constexpr std::uint64_t mix_narrow(std::uint64_t key);
  static constexpr std::uint64_t unmix_narrow(std::uint64_t mixed);
  static constexpr std::uint64_t mix_wide(std::uint64_t key);
  static constexpr std::uint64_t unmix_wide(std::uint64_t mixed);

 private:
  // An entry during the move from one table to the next.
  struct Entry {
    std::uint64_t mixed;  // in the layout of the old table
    std::uint32_t value;
  };

  bool is_first() const;
  void allocate(bool wide, int line_bits);
  void leave_first(std::size_t keys);
  void grow(int line_bits);
  void double_narrow();
  bool rebuild(bool wide, int line_bits);
  std::size_t line_count() const;
  std::size_t entries_of(std::size_t line, Entry* found) const;
  bool place(const Entry& entry);

  bool wide_ = false;
  int line_bits_ = 0;
  std::size_t size_ = 0;
  std::size_t limit_ = 0;
  Pages<std::uint64_t> lines_;
};

// --- Loops (block_table.inl) of exchange(), number() and find() ------------------------

template <Isa kIsa>
void exchange_keys(BlockTable& table, std::span<const std::uint64_t> keys,
                   std::span<const std::uint32_t> values, std::uint32_t first,
                   std::uint32_t* previous);
template <Isa kIsa>
void number_keys(BlockTable& table, std::span<const std::uint64_t> keys,
                 std::span<std::uint32_t> numbers);
template <Isa kIsa>
void find_keys(const BlockTable& table, std::span<const std::uint64_t> keys,
               std::span<std::uint32_t> values);

// --- Implementation --------------------------------------------------------------

namespace block_table_internal {

inline constexpr std::uint64_t kNarrowMask = (std::uint64_t{1} << BlockTable::kNarrowBits) - 1;
inline constexpr std::uint64_t kFirstFactor = 0x9e3779b97f4a7c15ULL;
inline constexpr std::uint64_t kSecondFactor = 0xd6e8feb86659fd93ULL;

// The x with x * odd = 1 modulo 2^64, by Newton's iteration.
MCSIM_WRAPS constexpr std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

}  // namespace block_table_internal

MCSIM_WRAPS constexpr std::uint64_t BlockTable::mix_narrow(std::uint64_t key) {
  using namespace block_table_internal;
  std::uint64_t x = (key * kFirstFactor) & kNarrowMask;
  x ^= x >> 21;
  x = (x * kSecondFactor) & kNarrowMask;
  return x ^ (x >> 22);
}

MCSIM_WRAPS constexpr std::uint64_t BlockTable::unmix_narrow(std::uint64_t mixed) {
  using namespace block_table_internal;
  // A shift by more than half the bits is its own inverse.
  std::uint64_t x = mixed ^ (mixed >> 22);
  x = (x * inverse(kSecondFactor)) & kNarrowMask;
  x ^= x >> 21;
  return (x * inverse(kFirstFactor)) & kNarrowMask;
}

MCSIM_WRAPS constexpr std::uint64_t BlockTable::mix_wide(std::uint64_t key) {
  using namespace block_table_internal;
  std::uint64_t x = key * kFirstFactor;
  x ^= x >> 32;
  x *= kSecondFactor;
  return x ^ (x >> 32);
}

MCSIM_WRAPS constexpr std::uint64_t BlockTable::unmix_wide(std::uint64_t mixed) {
  using namespace block_table_internal;
  // A shift by half the bits is its own inverse.
  std::uint64_t x = (mixed ^ (mixed >> 32)) * inverse(kSecondFactor);
  return (x ^ (x >> 32)) * inverse(kFirstFactor);
}

template <class Work>
void BlockTable::for_each(Work&& work) const {
  std::array<Entry, 8> entries;
  for (std::size_t line = 0; line < line_count(); ++line) {
    const std::size_t count = entries_of(line, entries.data());
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t mixed = entries[i].mixed;
      work(wide_ ? unmix_wide(mixed) : unmix_narrow(mixed), entries[i].value);
    }
  }
}

template <class Work>
void BlockTable::for_each_value(Work&& work) {
  // In both layouts the values are the last 32-bit words of a line: eight values, or five and a
  // spare word that stays 0.
  const std::size_t first = wide_ ? 10 : 8;
  auto* words = reinterpret_cast<std::uint32_t*>(lines_.data());
  const std::size_t end = lines_.size() * 2;
  for (std::size_t line = 0; line < end; line += 16) {
    for (std::size_t i = line + first; i < line + 16; ++i) {
      if (words[i] != 0) work(words[i]);
    }
  }
}

}  // namespace mcsim
