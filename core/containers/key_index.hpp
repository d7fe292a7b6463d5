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

// From raw 64-bit keys to slots, for streams of blocks that are not known in advance: a hash table
// with linear probing. A deletion leaves no tombstone, since later entries of the same run move up
// (Knuth 6.4, algorithm R). Only reserve() grows it. 32 to 64 bytes a slot.
class KeyIndex {
 public:
  using Block = std::uint64_t;
  static constexpr bool kErasesWithoutSearch = false;  // erase() searches for the entry

  // Bounded only by the number of slots.
  std::size_t blocks() const { return kNoSlot; }
  bool is_indexable(Block) const { return true; }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

  Slot find(Block key) const {
    for (std::size_t at = home(key);; at = next(at)) {
      const Entry& entry = entries_[at];
      if (entry.key == key || entry.slot_after == 0) return entry.slot_after - 1;
    }
  }

  // The slot stored at the key's home: most likely that of the key.
  Slot guess(Block key) const { return entries_[home(key)].slot_after - 1; }

  // The key must not be in the index.
  void set(Block key, Slot slot) {
    std::size_t at = home(key);
    while (entries_[at].slot_after != 0) at = next(at);
    entries_[at] = {.key = key, .slot_after = slot + 1};
  }

  // The key must be in the index.
  void erase(Block key) {
    std::size_t hole = home(key);
    while (entries_[hole].key != key || entries_[hole].slot_after == 0) hole = next(hole);
    for (std::size_t at = next(hole); entries_[at].slot_after != 0; at = next(at)) {
      // An entry may move up to the hole unless its home lies after the hole.
      const std::size_t from_home = (at - home(entries_[at].key)) & mask_;
      if (from_home < ((at - hole) & mask_)) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole] = {};
  }

  // Make room for `slots` keys at a load of at most one half.
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
    Slot slot_after;  // slot + 1; 0 means none
  };

  std::size_t home(Block key) const { return mix64(key) & mask_; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask_; }

  Pages<Entry> entries_;
  std::size_t mask_ = 0;
};

}  // namespace mcsim
