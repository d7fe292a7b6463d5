#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"

namespace mcsim {

// A row of slots, each live or dead, that answers how many are live up to a given
// one. Slots only die: a structure of recency fills it once and lets the slot of a
// block's last access die when the block is accessed again, so the slots of the
// future are live before their time and an access sets nothing.
//
// 64 bytes hold 448 slots: seven words of bits and a word of seven nine-bit
// counts, each what lies before its word (after Vigna's rank9, 2008). Above it, a
// tree of such exclusive counts: of each line within its 32, of those groups
// within their 16, and so on. A query adds one number a level; a death subtracts
// one from the numbers behind it, a single vector a level.
//
// A slot is named by its code, line * 512 + position, which spares the division by
// 448. The operations are in live_slots.inl, for a chosen instruction set.
class LiveSlots {
 public:
  static constexpr std::uint32_t kLineSlots = 448;
  static constexpr std::uint32_t kLineCodes = 512;
  // Slots of 32 lines. Threads may let slots of different groups die at once, if each has
  // counts of groups of its own.
  static constexpr std::uint32_t kGroupCodes = 32 * kLineCodes;
  static constexpr std::size_t kMaxSlots = (std::size_t{1} << 32) / kLineCodes * kLineSlots;
  static constexpr int kMaxLevels = 5;  // above the counts of lines

  static constexpr std::uint32_t code_of(std::uint32_t slot) {
    return slot / kLineSlots * kLineCodes + slot % kLineSlots;
  }

  LiveSlots() = default;
  // At least `slots` of them, all live; slots <= kMaxSlots.
  explicit LiveSlots(std::size_t slots);

  // All slots are live again.
  void fill();

  std::size_t size() const { return line_count_ * kLineSlots; }
  // One past the code of the last slot, which may be 2^32.
  std::uint64_t end_code() const { return static_cast<std::uint64_t>(line_count_) * kLineCodes; }
  std::size_t bytes() const {
    return lines_.bytes() + line_counts_.bytes() + group_counts_.bytes();
  }

  // What the operations work on.
  struct View {
    std::uint64_t* lines;                           // eight words each
    std::uint16_t* line_counts;                     // in groups of 32
    std::array<std::uint32_t*, kMaxLevels> levels;  // in groups of 16
  };
  View view() const { return view_with(group_counts_.data()); }
  View view_with(std::uint32_t* group_counts) const;
  // The counts of all levels above those of lines.
  std::span<std::uint32_t> group_counts() const {
    return {group_counts_.data(), group_counts_.size()};
  }
  // How many of View::levels there are.
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
