#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <tuple>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// Slots ordered by key, the least on top; keys may change. A heap with four children a node, and
// the heap position of each slot. O(log n) a change; the size of a key plus eight bytes a slot,
// rounded up.
template <class Key>
class SlotHeap {
 public:
  explicit SlotHeap(std::size_t slots) : entries_(slots), position_of_(slots) {}

  std::size_t slots() const { return entries_.size(); }
  void reserve(std::size_t slots) {
    if (slots <= entries_.size()) return;
    entries_.extend(slots);
    position_of_.extend(slots);
  }

  Count size() const { return static_cast<Count>(size_); }
  bool empty() const { return size_ == 0; }
  Slot top() const {
    assert(!empty());
    return entries_[0].slot;
  }
  const Key& key(Slot slot) const { return entries_[position_of_[slot]].key; }

  void push(Slot slot, const Key& key) {
    assert(slot < slots() && size_ < slots());
    rise(size_++, {key, slot});
  }

  // Change the key of a slot in the heap.
  void update(Slot slot, const Key& key) {
    assert(contains(slot));
    const std::size_t position = position_of_[slot];
    if (key < entries_[position].key) {
      rise(position, {key, slot});
    } else {
      sink(position, {key, slot});
    }
  }

  // Visit each slot, in the order in which rekey() requests keys.
  void for_each(auto&& visit) const {
    for (std::size_t i = 0; i < size_; ++i) visit(Slot{entries_[i].slot});
  }

  // Change the keys of all slots, in O(n).
  void rekey(auto&& key_of) {
    for (std::size_t i = 0; i < size_; ++i) entries_[i].key = key_of(entries_[i].slot);
    for (std::size_t i = size_; i-- > 0;) sink(i, Entry(entries_[i]));
  }

  void erase(Slot slot) {
    assert(contains(slot));
    const std::size_t hole = position_of_[slot];
    const Entry last = entries_[--size_];
    if (hole == size_) return;
    if (last.key < entries_[hole].key) {
      rise(hole, last);
    } else {
      sink(hole, last);
    }
  }

  Slot pop() {
    const Slot slot = top();
    erase(slot);
    return slot;
  }

  void prefetch(Slot slot) const { prefetch_line(&position_of_[slot]); }
  auto state() { return std::tie(entries_, position_of_, size_); }
  std::size_t bytes() const { return entries_.size() * (sizeof(Entry) + sizeof(Slot)); }

  absl::Status check() const {
    for (std::size_t i = 0; i < size_; ++i) {
      if (position_of_[entries_[i].slot] != i) {
        return internal_error("heap: entry {} is thought to be at {}", i,
                              position_of_[entries_[i].slot]);
      }
      if (i > 0 && entries_[i].key < entries_[(i - 1) / kChildren].key) {
        return internal_error("heap: entry {} is less than what is above it", i);
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kChildren = 4;

  struct Entry {
    Key key;
    Slot slot;
    auto state() { return std::tie(key, slot); }
  };

  bool contains(Slot slot) const {
    return position_of_[slot] < size_ && entries_[position_of_[slot]].slot == slot;
  }

  void place(std::size_t position, const Entry& entry) {
    entries_[position] = entry;
    position_of_[entry.slot] = static_cast<Slot>(position);
  }

  void rise(std::size_t position, const Entry& entry) {
    while (position > 0) {
      const std::size_t parent = (position - 1) / kChildren;
      if (!(entry.key < entries_[parent].key)) break;
      place(position, entries_[parent]);
      position = parent;
    }
    place(position, entry);
  }

  void sink(std::size_t position, const Entry& entry) {
    while (true) {
      const std::size_t first = position * kChildren + 1;
      if (first >= size_) break;
      std::size_t least = first;
      for (std::size_t i = first + 1; i < std::min(first + kChildren, size_); ++i) {
        if (entries_[i].key < entries_[least].key) least = i;
      }
      if (!(entries_[least].key < entry.key)) break;
      place(position, entries_[least]);
      position = least;
    }
    place(position, entry);
  }

  Pages<Entry> entries_;
  Pages<Slot> position_of_;
  std::size_t size_ = 0;
};

}  // namespace mcsim
