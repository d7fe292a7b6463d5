#include "core/containers/live_slots.hpp"

#include <algorithm>
#include <cassert>

namespace mcsim {
namespace {

constexpr std::size_t kLinesPerGroup = 32;
constexpr std::size_t kFanOut = 16;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Seven nine-bit counts: 64 live slots in every word before each.
constexpr std::uint64_t full_line_counts() {
  std::uint64_t counts = 0;
  for (unsigned word = 0; word < 7; ++word) counts |= std::uint64_t{64 * word} << (9 * word);
  return counts;
}

}  // namespace

LiveSlots::LiveSlots(std::size_t slots)
    : line_count_(std::max<std::size_t>(1, (slots + kLineSlots - 1) / kLineSlots)) {
  assert(slots <= kMaxSlots);
  lines_ = Pages<std::uint64_t>(line_count_ * 8);
  line_counts_ = Pages<std::uint16_t>(round_up(line_count_, kLinesPerGroup));
  std::size_t counts = 0;
  // A level with a single group would count nothing.
  for (std::size_t groups = line_counts_.size() / kLinesPerGroup; groups > 1;
       groups = round_up(groups, kFanOut) / kFanOut) {
    level_begin_[static_cast<std::size_t>(level_count_++)] = counts;
    counts += round_up(groups, kFanOut);
  }
  group_counts_ = Pages<std::uint32_t>(counts);
  fill();
}

void LiveSlots::fill() {
  for (std::size_t line = 0; line < line_count_; ++line) {
    std::fill_n(&lines_[line * 8], 7, ~std::uint64_t{0});
    lines_[line * 8 + 7] = full_line_counts();
  }
  for (std::size_t line = 0; line < line_counts_.size(); ++line) {
    line_counts_[line] = static_cast<std::uint16_t>(line % kLinesPerGroup * kLineSlots);
  }
  std::size_t slots_below = kLinesPerGroup * kLineSlots;
  for (int level = 0; level < level_count_; ++level) {
    const auto index = static_cast<std::size_t>(level);
    const std::size_t end =
        level + 1 < level_count_ ? level_begin_[index + 1] : group_counts_.size();
    for (std::size_t i = level_begin_[index]; i < end; ++i) {
      group_counts_[i] =
          static_cast<std::uint32_t>((i - level_begin_[index]) % kFanOut * slots_below);
    }
    slots_below *= kFanOut;
  }
}

LiveSlots::View LiveSlots::view_with(std::uint32_t* group_counts) const {
  View view{lines_.data(), line_counts_.data(), {}};
  for (int level = 0; level < level_count_; ++level) {
    const auto index = static_cast<std::size_t>(level);
    view.levels[index] = group_counts + level_begin_[index];
  }
  return view;
}

}  // namespace mcsim
