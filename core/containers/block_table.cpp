#include "core/containers/block_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace mcsim {
namespace {

using block_table_internal::kNarrowMask;

// Lower bound of line bits: the tag must hold the distance and the key bits that do not select the
// line.
constexpr int kFewestNarrowBits = BlockTable::kNarrowBits - (32 - BlockTable::kDistanceBits);
constexpr int kFewestWideBits = 9;
// Line bits of the first lines, which have whole keys of any size.
constexpr int kFirstBits = 8;
constexpr std::size_t kWords = 8;  // 64-bit words in a line

// The number of keys at which the table doubles: load factor 3/4, with whole keys 7/10.
constexpr std::size_t limit_of(bool wide, int line_bits) {
  const std::size_t lines = std::size_t{1} << line_bits;
  return wide ? lines * 35 / 10 : lines * 6;
}

constexpr std::size_t kFirstLimit = limit_of(true, kFirstBits);

int line_bits_for(bool wide, std::size_t keys) {
  int bits = wide ? kFewestWideBits : kFewestNarrowBits;
  while (limit_of(wide, bits) < keys) ++bits;
  return bits;
}

// Chains of narrow lines do not wrap around; they end in a few extra lines.
constexpr std::size_t lines_for(bool wide, int line_bits) {
  return (std::size_t{1} << line_bits) + (wide ? 0 : BlockTable::kMaxDistance);
}

std::uint32_t* halves_of(std::uint64_t* line) { return reinterpret_cast<std::uint32_t*>(line); }
const std::uint32_t* halves_of(const std::uint64_t* line) {
  return reinterpret_cast<const std::uint32_t*>(line);
}

}  // namespace

BlockTable::BlockTable() { allocate(true, kFirstBits); }

bool BlockTable::is_first() const { return wide_ && line_bits_ == kFirstBits; }

void BlockTable::allocate(bool wide, int line_bits) {
  wide_ = wide;
  line_bits_ = line_bits;
  limit_ = limit_of(wide, line_bits);
  lines_ = Pages<std::uint64_t>(lines_for(wide, line_bits) * kWords);
}

void BlockTable::clear() {
  const bool is_fewest_narrow = !wide_ && line_bits_ == kFewestNarrowBits;
  if (is_first() || (is_fewest_narrow && size_ > kFirstLimit)) {
    std::ranges::fill(lines_, 0);
  } else {
    allocate(true, kFirstBits);
  }
  size_ = 0;
}

void BlockTable::ensure_space(std::size_t more) {
  if (has_room(more)) return;
  const std::size_t keys = size_ + more;
  if (is_first()) return leave_first(keys);
  grow(line_bits_for(wide_, keys));
}

// Choose the layout by the keys so far. Keys that collide need whole keys, like large ones.
void BlockTable::leave_first(std::size_t keys) {
  bool wide = false;
  for_each([&](std::uint64_t key, std::uint32_t) { wide |= key > kNarrowMask; });
  if (wide || !rebuild(false, line_bits_for(false, keys))) rebuild(true, line_bits_for(true, keys));
}

void BlockTable::grow(int line_bits) {
  if (size_ == 0) return allocate(wide_, line_bits);
  if (wide_) {
    rebuild(true, line_bits);
    return;
  }
  while (line_bits_ < line_bits && !wide_) double_narrow();
}

void BlockTable::resolve_overflow() {
  if (size_ * 4 > limit_) {
    grow(line_bits_ + 1);
  } else {
    widen();
  }
}

void BlockTable::widen() {
  if (!wide_) rebuild(true, line_bits_for(true, size_));
}

std::size_t BlockTable::line_count() const { return lines_.size() / kWords; }

// Copy the entries of a line to `found` and return their number.
std::size_t BlockTable::entries_of(std::size_t line, Entry* found) const {
  std::size_t count = 0;
  const std::uint64_t* words = lines_.data() + line * kWords;
  const std::uint32_t* halves = halves_of(words);
  if (wide_) {
    for (; count < 5 && halves[10 + count] != 0; ++count) {
      found[count] = {words[count], halves[10 + count]};
    }
    return count;
  }
  for (std::size_t i = 0; i < 8; ++i) count += halves[8 + i] != 0 ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t home = line - (halves[i] & kMaxDistance);
    found[i] = {home << (kNarrowBits - line_bits_) | halves[i] >> kDistanceBits, halves[8 + i]};
  }
  return count;
}

// A key's home in the doubled table is 2 or 2 + 1 times its home in this one. So lines are emptied
// from the last to the first, before entries move into them. Only entries of the first few lines
// could move into lines not emptied yet; they wait in a list. The number of entries in each
// destination line is kept in a ring of counters: reading the line would cost a mispredicted branch
// an entry.
void BlockTable::double_narrow() {
  constexpr std::size_t kFirstLines = 2 * (kMaxDistance + 1);
  constexpr std::size_t kRing = 256;
  std::array<std::uint8_t, kRing> fill{};
  std::vector<Entry> waiting;
  const std::size_t lines = lines_for(false, line_bits_);
  lines_.extend(lines_for(false, line_bits_ + 1) * kWords);
  std::uint32_t* const halves = halves_of(lines_.data());
  for (std::size_t line = lines; line-- > 0;) {
    std::array<Entry, 8> entries;
    const std::size_t count = entries_of(line, entries.data());
    std::fill_n(lines_.data() + line * kWords, kWords, 0);
    // The two lowest destinations of this line's entries: new, so their counts start at 0.
    const std::size_t lowest = 2 * line - 2 * kMaxDistance;
    fill[lowest % kRing] = 0;
    fill[(lowest + 1) % kRing] = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t home = entries[i].mixed >> (kNarrowBits - line_bits_ - 1);
      const std::size_t at = fill[home % kRing];
      if (line < kFirstLines || at == 8) [[unlikely]] {
        waiting.push_back(entries[i]);
        continue;
      }
      fill[home % kRing] = static_cast<std::uint8_t>(at + 1);
      const std::uint64_t rest = entries[i].mixed & (kNarrowMask >> (line_bits_ + 1));
      halves[home * 16 + at] = static_cast<std::uint32_t>(rest << kDistanceBits);
      halves[home * 16 + 8 + at] = entries[i].value;
    }
  }
  ++line_bits_;
  limit_ = limit_of(false, line_bits_);
  std::vector<Entry> overflow;
  for (const Entry& entry : waiting) {
    if (!place(entry)) overflow.push_back(entry);
  }
  if (overflow.empty()) return;
  widen();
  for (const Entry& entry : overflow) place({mix_wide(unmix_narrow(entry.mixed)), entry.value});
}

// Move all entries to a new table, to whole keys or from the first lines. Return false without any
// change if an entry finds no place, which whole keys always do.
bool BlockTable::rebuild(bool wide, int line_bits) {
  BlockTable table;
  table.allocate(wide, line_bits);
  table.size_ = size_;
  std::array<Entry, 8> entries;
  for (std::size_t line = 0; line < line_count(); ++line) {
    const std::size_t count = entries_of(line, entries.data());
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t& mixed = entries[i].mixed;
      if (wide && !wide_) mixed = mix_wide(unmix_narrow(mixed));
      if (!wide) mixed = mix_narrow(unmix_wide(mixed));
      if (!table.place(entries[i])) return false;
    }
  }
  *this = std::move(table);
  return true;
}

// Store a key that the table does not have. Return false if no entry is free near its home; whole
// keys always find one.
bool BlockTable::place(const Entry& entry) {
  const std::size_t home = entry.mixed >> ((wide_ ? 64 : kNarrowBits) - line_bits_);
  const std::size_t values = wide_ ? 10 : 8;
  const std::size_t entries = wide_ ? 5 : 8;
  const std::size_t farthest = wide_ ? std::size_t{1} << line_bits_ : kMaxDistance;
  for (std::size_t distance = 0; distance <= farthest; ++distance) {
    const std::size_t line =
        wide_ ? (home + distance) & ((std::size_t{1} << line_bits_) - 1) : home + distance;
    std::uint64_t* const words = lines_.data() + line * kWords;
    std::uint32_t* const halves = halves_of(words);
    for (std::size_t i = 0; i < entries; ++i) {
      if (halves[values + i] != 0) continue;
      if (wide_) {
        words[i] = entry.mixed;
      } else {
        const std::uint64_t rest = entry.mixed & (kNarrowMask >> line_bits_);
        halves[i] = static_cast<std::uint32_t>(rest << kDistanceBits | distance);
      }
      halves[values + i] = entry.value;
      return true;
    }
  }
  return false;
}

void BlockTable::exchange(std::span<const std::uint64_t> keys,
                          std::span<const std::uint32_t> values, std::uint32_t first,
                          std::uint32_t* previous) {
  assert(values.size() == keys.size());
  with_isa([&]<Isa kIsa>() { exchange_keys<kIsa>(*this, keys, values, first, previous); });
}

void BlockTable::number(std::span<const std::uint64_t> keys, std::span<std::uint32_t> numbers) {
  assert(numbers.size() >= keys.size());
  with_isa([&]<Isa kIsa>() { number_keys<kIsa>(*this, keys, numbers); });
}

void BlockTable::find(std::span<const std::uint64_t> keys, std::span<std::uint32_t> values) const {
  assert(values.size() == keys.size());
  with_isa([&]<Isa kIsa>() { find_keys<kIsa>(*this, keys, values); });
}

}  // namespace mcsim
