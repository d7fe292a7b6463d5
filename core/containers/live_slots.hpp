#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"

namespace mcsim {

// A row of slots, each live or dead, with a query for the number of live slots up to a given one.
// Slots can only die. A recency structure starts with all slots live; when a block is accessed
// again, the slot of its previous access dies. So the slots of future accesses are already live,
// and an access sets no bit.
//
// 64 bytes hold 448 slots: seven words of bits, and one word of seven nine-bit counts of the live
// slots before each word (after Vigna's rank9, 2008). Above the lines is a tree of such exclusive
// counts: of each line within its 32, of each group of lines within its 16, and so on. A query adds
// one number a level. A death subtracts one from all later numbers of the row, which is a single
// vector operation a level.
//
// A slot is identified by its code, line * 512 + position, which avoids a division by 448. The
// operations are in live_slots.inl, for a chosen instruction set.
class LiveSlots {
 public:
  static constexpr std::uint32_t kLineSlots = 448;
  static constexpr std::uint32_t kLineCodes = 512;
  // Codes of 32 lines. Threads may kill slots of different groups concurrently if each thread has
  // its own group counts.
  static constexpr std::uint32_t kGroupCodes = 32 * kLineCodes;
  static constexpr std::size_t kMaxSlots = (std::size_t{1} << 32) / kLineCodes * kLineSlots;
  static constexpr int kMaxLevels = 5;  // above the counts of lines

  static constexpr std::uint32_t code_of(std::uint32_t slot) {
    return slot / kLineSlots * kLineCodes + slot % kLineSlots;
  }

  static constexpr std::uint32_t slot_of(std::uint32_t code) {
    return code / kLineCodes * kLineSlots + code % kLineCodes;
  }

  LiveSlots() = default;
  // At least `slots` slots, all live; slots <= kMaxSlots.
  explicit LiveSlots(std::size_t slots);

  // Make all slots live again.
  void fill();

  std::size_t size() const { return line_count_ * kLineSlots; }
  // One past the code of the last slot, which may be 2^32.
  std::uint64_t end_code() const { return static_cast<std::uint64_t>(line_count_) * kLineCodes; }
  std::size_t bytes() const {
    return lines_.bytes() + line_counts_.bytes() + group_counts_.bytes();
  }

  // The data of the operations.
  struct View {
    std::uint64_t* lines;                           // eight words each
    std::uint16_t* line_counts;                     // in groups of 32
    std::array<std::uint32_t*, kMaxLevels> levels;  // in groups of 16
  };
  View view() const { return view_with(group_counts_.data()); }
  View view_with(std::uint32_t* group_counts) const;
  // The counts of all levels above the lines.
  std::span<std::uint32_t> group_counts() const {
    return {group_counts_.data(), group_counts_.size()};
  }
  // The number of View::levels in use.
  int level_count() const { return level_count_; }

 private:
  std::size_t line_count_ = 0;
  int level_count_ = 0;
  std::array<std::size_t, kMaxLevels> level_begin_{};  // into group_counts_
  Pages<std::uint64_t> lines_;
  Pages<std::uint16_t> line_counts_;
  Pages<std::uint32_t> group_counts_;
};

}  // namespace mcsim
