#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// From raw 64-bit keys to slots, for streams whose blocks are not known before: a hash
// table with linear probing whose deletions leave no trace, since what comes after in
// the same run moves up (Knuth 6.4, algorithm R). It grows by reserve alone. 32 to 64
// bytes a slot.
class KeyIndex {
 public:
  using Block = std::uint64_t;
  static constexpr bool kErasesBlindly = false;  // it searches for what it erases

  // No bound but that of slots.
  std::size_t blocks() const { return kNoSlot; }
  bool knows(Block) const { return true; }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

  Slot find(Block key) const {
    for (std::size_t at = home(key);; at = next(at)) {
      const Entry& entry = entries_[at];
      if (entry.key == key || entry.slot_after == 0) return entry.slot_after - 1;
    }
  }

  // The slot of the key if it is where it belongs, or of what has its place.
  Slot guess(Block key) const { return entries_[home(key)].slot_after - 1; }

  // Of a key that is not in here.
  void set(Block key, Slot slot) {
    std::size_t at = home(key);
    while (entries_[at].slot_after != 0) at = next(at);
    entries_[at] = {.key = key, .slot_after = slot + 1};
  }

  // Of a key that is.
  void erase(Block key) {
    std::size_t hole = home(key);
    while (entries_[hole].key != key || entries_[hole].slot_after == 0) hole = next(hole);
    for (std::size_t at = next(hole); entries_[at].slot_after != 0; at = next(at)) {
      // An entry may move up to the hole unless its home lies beyond it.
      const std::size_t from_home = (at - home(entries_[at].key)) & mask_;
      if (from_home < ((at - hole) & mask_)) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
  }

  // Room for so many keys at half the load at most.
  void reserve(std::size_t slots) {
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * slots, 16));
    if (size <= entries_.size()) return;
    const Pages<Entry> old = std::exchange(entries_, Pages<Entry>(size));
    mask_ = size - 1;
    for (const Entry& entry : old) {
      if (entry.slot_after != 0) set(entry.key, entry.slot_after - 1);
    }
  }

  void prefetch(Block key) const { prefetch_line(&entries_[home(key)]); }

 private:
  struct Entry {
    Block key;
    Slot slot_after;  // 1 more than the slot; 0 is none
  };

  std::size_t home(Block key) const { return mix64(key) & mask_; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask_; }

  Pages<Entry> entries_;
  std::size_t mask_ = 0;
};

}  // namespace mcsim
