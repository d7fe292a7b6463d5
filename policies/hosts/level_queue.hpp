#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"
#include "core/containers/slot_lists.hpp"

namespace mcsim {

// The multi-level queue of smq (Linux, drivers/md/dm-cache-policy-smq.c): 64 levels of entries, the
// oldest first. An access raises an entry, and lowers another one in exchange, so that the levels
// keep their sizes. Redistribution restores equal sizes after insertions and removals.
//
// The queue of dirty blocks has two sentinels in each level. Every period they exchange their names
// and the young one moves to the end. So an entry at the head of a level, before both, was not
// touched for one to two periods.
//
// Entries are the slots below the number of the constructor. O(1) for each operation, O(levels) for
// searches, and O(levels + moves) for a redistribution. 9 bytes an entry.
class LevelQueue {
 public:
  static constexpr std::size_t kLevels = 64;

  enum class Sentinels { kNone, kTwo };

  // `top_levels`: the number of upper levels to which redistribute() gives a size of their own.
  LevelQueue(std::size_t entries, std::size_t top_levels, Sentinels sentinels)
      : entries_(static_cast<Slot>(entries)),
        top_levels_(top_levels),
        has_sentinels_(sentinels == Sentinels::kTwo),
        lists_(entries + (has_sentinels_ ? 2 * kLevels : 0)) {
    for (std::size_t level = 0; level < kLevels && has_sentinels_; ++level) {
      lists_.push_front(level, sentinel(level, 0));
      lists_.push_front(level, sentinel(level, 1));
    }
  }

  Count count() const { return count_; }
  // The level of an entry, or the last one of an entry that was removed.
  std::size_t level(Slot entry) const { return lists_.list_of(entry); }

  void push(std::size_t level, Slot entry) {
    lists_.push_front(level, entry);
    ++count_;
  }
  // Insert an entry before all others of its level, and before its sentinels.
  void push_oldest(std::size_t level, Slot entry) {
    lists_.push_back(level, entry);
    ++count_;
  }
  void remove(Slot entry) {
    lists_.erase(entry);
    --count_;
  }

  // Move an entry up by some levels; by 0 levels, or from the highest level, to the end of its own.
  void requeue(Slot entry, std::size_t by) {
    const std::size_t from = level(entry);
    const std::size_t to = std::min(from + by, kLevels - 1);
    if (to > from) swap_down(to, from);
    lists_.move_to_front(to, entry);
  }

  // Return the oldest entry of the lowest level that has one, of the first `levels`; or kNoSlot.
  Slot oldest(std::size_t levels = kLevels) const {
    for (std::size_t level = 0; level < levels; ++level) {
      if (size(level) > 0) return oldest_of(level);
    }
    return kNoSlot;
  }
  // The same of levels whose oldest entry is before the sentinels.
  Slot oldest_before_sentinels() const {
    for (std::size_t level = 0; level < kLevels; ++level) {
      const Slot head = lists_.back(level);
      if (is_entry(head)) return head;
    }
    return kNoSlot;
  }

  void change_sentinels() {
    old_ = 1 - old_;
    for (std::size_t level = 0; level < kLevels; ++level) {
      lists_.move_to_front(level, sentinel(level, 1 - old_));
    }
  }

  // Restore the sizes of all levels: `top` entries over the top levels, and the others over the
  // levels below. A remainder gives one more to each of the lowest levels.
  void redistribute(Count top = 0) {
    if (count_ != targets_for_) set_targets(top);
    std::size_t source = 1;  // levels between the current one and this are empty
    for (std::size_t level = 0; level + 1 < kLevels; ++level) {
      source = std::max(source, level + 1);
      while (size(level) < targets_[level]) {
        while (source < kLevels && size(source) == 0) ++source;
        if (source == kLevels) break;
        lists_.move_to_front(level, oldest_of(source));
      }
      while (size(level) > targets_[level]) lists_.move_to_front(level + 1, newest_of(level));
    }
  }

  void prefetch(Slot entry) const { lists_.prefetch(entry); }
  std::size_t bytes() const { return lists_.bytes(); }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    Count found = 0;
    for (std::size_t level = 0; level < kLevels; ++level) found += size(level);
    if (found == count_) return absl::OkStatus();
    return internal_error("{} entries in the levels, counted {}", found, count_);
  }

 private:
  bool is_entry(Slot slot) const { return slot < entries_; }
  Slot sentinel(std::size_t level, std::size_t which) const {
    return static_cast<Slot>(entries_ + 2 * level + which);
  }
  Count size(std::size_t level) const { return lists_.size(level) - (has_sentinels_ ? 2 : 0); }

  Slot oldest_of(std::size_t level) const {
    Slot slot = lists_.back(level);
    while (!is_entry(slot)) slot = lists_.newer(slot);
    return slot;
  }
  Slot newest_of(std::size_t level) const {
    Slot slot = lists_.front(level);
    while (!is_entry(slot)) slot = lists_.older(slot);
    return slot;
  }

  // Move the oldest entry of level `from`, if any, down to level `to`. Its position relative to the
  // sentinels stays: before the old one, between the two, or behind both.
  void swap_down(std::size_t from, std::size_t to) {
    if (size(from) == 0) return;
    Slot entry = lists_.back(from);
    std::size_t passed = 0;
    for (; !is_entry(entry); entry = lists_.newer(entry)) ++passed;
    if (!has_sentinels_ || passed == 2) return lists_.move_to_front(to, entry);
    lists_.erase(entry);
    lists_.insert_older(sentinel(to, passed == 0 ? old_ : 1 - old_), entry);
  }

  void set_targets(Count top) {
    targets_for_ = count_;
    const std::size_t lower = kLevels - top_levels_;
    spread(std::max<Count>(count_ - top, 0), 0, lower);
    spread(top, lower, kLevels);
  }
  void spread(Count count, std::size_t begin, std::size_t end) {
    const auto levels = static_cast<Count>(end - begin);
    for (std::size_t level = begin; level < end; ++level) {
      const auto rank = static_cast<Count>(level - begin);
      targets_[level] = count / levels + (rank < count % levels ? 1 : 0);
    }
  }

  Slot entries_;
  std::size_t top_levels_;
  bool has_sentinels_;
  SlotLists<kLevels> lists_;
  Count count_ = 0;
  std::size_t old_ = 0;  // which of the two sentinels of each level is the old one
  std::array<Count, kLevels> targets_{};
  Count targets_for_ = 0;  // the count that they were computed for
};

}  // namespace mcsim
