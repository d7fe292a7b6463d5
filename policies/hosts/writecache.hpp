#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/bit_array.hpp"
#include "core/containers/slot.hpp"
#include "core/containers/slot_lists.hpp"
#include "policies/hosts/kernel_time.hpp"

namespace mcsim {

struct WritecacheSetup {
  std::size_t entries = 1;  // cache blocks
  std::size_t blocks = 0;   // blocks of the origin that the trace accesses
  Count high_watermark = 50;
  Count low_watermark = 45;
  std::size_t autocommit_blocks = 65'536;
  Jiffies autocommit_time = 100;
  Jiffies pause = 300;
  Jiffies max_age = 0;  // 0: none
  Jiffies created = 0;
};

// The outcome of the first blocks of a write. kAround: they went to the origin alone.
enum class WritecacheOutcome : std::uint8_t { kHit, kAllocated, kAround };

// dm-writecache on an SSD (Linux 6.1, drivers/md/dm-writecache.c), with one request in flight, and
// write-backs that end before the next request. Only writes enter the cache. They are overwritten
// in place, and written back in the order of their first write; a written block is free.
//
// Blocks of the origin are numbered in the order of their addresses. A write of several blocks does
// not look up those after the first, so a block may have an older copy until the next commit.
// `Sink` receives the changes of cache blocks:
//
//   void allocated(std::uint32_t number, bool has_older);
//   void overwritten(std::uint32_t number);
//   void written_back(std::uint32_t number);
//   void replaced(std::uint32_t number);  // an older copy is free
//
// O(1) per block. Memory: 32 bytes a cache block, 4 bytes and a bit a block.
class Writecache {
 public:
  struct Piece {
    std::size_t blocks;
    WritecacheOutcome outcome;
  };

  explicit Writecache(const WritecacheSetup& setup)
      : setup_(setup),
        start_below_(free_at(setup.high_watermark)),
        stop_above_(free_at(setup.low_watermark)),
        entries_(setup.entries),
        newest_after_(setup.blocks),
        follows_(setup.blocks),
        order_(setup.entries),
        free_(setup.entries),
        free_count_(setup.entries),
        now_(setup.created),
        age_check_at_(setup.max_age > 0 ? timer_expiry(setup.created, setup.max_age / kAgeChecks)
                                        : kNever) {
    for (std::size_t i = 0; i < setup.entries; ++i) free_.set(i);
  }

  // The block with this number begins where the one before ends.
  void mark_following(std::uint32_t number) { follows_.set(number); }

  // Run timers and delayed write-backs up to this time.
  template <class Sink>
  void run_until(Jiffies now, Sink& sink) {
    while (true) {
      const Jiffies work = wants_write_back_ ? resume_at_ : commit_at_;
      const Jiffies due = std::min(work, age_check_at_);
      if (due > now) break;
      now_ = due;
      settle(sink);
      if (now_ == age_check_at_) check_age(now);
      settle(sink);
    }
    now_ = now;
  }

  bool holds(std::uint32_t number) const { return newest_after_[number] != 0; }

  // Write the first blocks of the rest of a request. The cache must have run until its time.
  template <class Sink>
  Piece write(std::span<const std::uint32_t> numbers, Sink& sink) {
    Piece piece{.blocks = 1, .outcome = WritecacheOutcome::kHit};
    if (const Slot found = newest(numbers.front()); found != kNoSlot) {
      piece.blocks = overwrite(found, numbers, sink);
    } else if (next_free_ == kNoSlot) {
      resume_at_ = now_ + setup_.pause;
      return {.blocks = 1, .outcome = WritecacheOutcome::kAround};
    } else {
      piece = {.blocks = append(numbers, sink), .outcome = WritecacheOutcome::kAllocated};
    }
    if (commit_at_ == kNever) commit_at_ = timer_expiry(now_, setup_.autocommit_time);
    return piece;
  }

  // Finish the work that requests or timers started. Commits wait for a delayed write-back.
  template <class Sink>
  void settle(Sink& sink) {
    if (wants_write_back_) {
      if (now_ < resume_at_) return;
      write_back(sink);
    }
    if (now_ >= commit_at_ || uncommitted_ >= setup_.autocommit_blocks) commit(sink);
  }

  // Remove all copies of a block without a write-back. Return their number.
  Count drop(std::uint32_t number) {
    Count dropped = 0;
    while (holds(number)) {
      const Slot slot = newest(number);
      uncommitted_ -= waits(slot) && uncommitted_ > 0 ? 1 : 0;
      release(slot);
      ++dropped;
    }
    return dropped;
  }

  std::size_t size() const { return setup_.entries - free_count_; }
  std::size_t bytes() const {
    return entries_.bytes() + newest_after_.bytes() + follows_.bytes() + order_.bytes() +
           free_.bytes();
  }
  void prefetch(std::uint32_t number) const { prefetch_line(&newest_after_[number]); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(order_.check());
    std::size_t held = 0;
    for (std::uint32_t number = 0; number < setup_.blocks; ++number) {
      for (Slot slot = newest(number); slot != kNoSlot; slot = older(slot)) ++held;
    }
    if (held == size() && static_cast<Count>(held) == order_.size()) return absl::OkStatus();
    return internal_error("writecache: {} copies of blocks in {} cache blocks, {} of them ordered",
                          held, size(), order_.size());
  }

 private:
  static constexpr Jiffies kNever = std::numeric_limits<Jiffies>::max();
  static constexpr Jiffies kAgeChecks = 16;
  static constexpr std::size_t kLongestCopy = 256;

  struct Entry {
    Jiffies inserted;
    std::uint32_t number;
    std::uint32_t older;     // the older copy of the block + 1; 0: none
    std::uint32_t sequence;  // the number of commits before it was inserted
  };

  std::size_t free_at(Count percent) const {
    return (setup_.entries * static_cast<std::size_t>(100 - percent) + 50) / 100;
  }
  Slot newest(std::uint32_t number) const { return newest_after_[number] - 1; }
  Slot older(Slot slot) const { return entries_[slot].older - 1; }
  Slot oldest(std::uint32_t number) const {
    Slot slot = newest(number);
    while (slot != kNoSlot && older(slot) != kNoSlot) slot = older(slot);
    return slot;
  }
  // Whether the next commit includes it.
  bool waits(Slot slot) const { return entries_[slot].sequence == commits_; }

  // The oldest copy of the next block, if it is behind a cache block.
  Slot following(std::uint32_t number, Slot slot) const {
    const std::size_t next = std::size_t{number} + 1;
    if (next >= setup_.blocks || !follows_[next]) return kNoSlot;
    const Slot found = oldest(static_cast<std::uint32_t>(next));
    return found == slot + 1 ? found : kNoSlot;
  }

  // Overwrite as many blocks as are neighbours in the origin and in the cache.
  template <class Sink>
  std::size_t overwrite(Slot slot, std::span<const std::uint32_t> numbers, Sink& sink) {
    sink.overwritten(numbers.front());
    std::size_t blocks = 1;
    while (blocks < numbers.size() && slot == newest(numbers[blocks - 1])) {
      slot = following(numbers[blocks - 1], slot);
      if (slot == kNoSlot) break;
      sink.overwritten(numbers[blocks]);
      ++blocks;
    }
    return blocks;
  }

  // Insert as many blocks as fit into adjacent free cache blocks.
  template <class Sink>
  std::size_t append(std::span<const std::uint32_t> numbers, Sink& sink) {
    Slot last = insert(numbers.front(), sink);
    std::size_t blocks = 1;
    while (blocks < numbers.size() && next_free_ == last + 1) {
      last = insert(numbers[blocks], sink);
      ++blocks;
    }
    return blocks;
  }

  template <class Sink>
  Slot insert(std::uint32_t number, Sink& sink) {
    const Slot slot = next_free_;
    free_.clear(slot);
    --free_count_;
    std::size_t next = free_.next_set(slot);
    if (next == free_.size()) next = free_.next_set(0);
    next_free_ = free_count_ == 0 ? kNoSlot : static_cast<Slot>(next);
    entries_[slot] = {
        .inserted = now_, .number = number, .older = newest_after_[number], .sequence = commits_};
    newest_after_[number] = slot + 1;
    order_.push_front(slot);
    ++uncommitted_;
    wants_write_back_ |= free_count_ <= start_below_;
    sink.allocated(number, entries_[slot].older != 0);
    return slot;
  }

  void release(Slot slot) {
    std::uint32_t* link = &newest_after_[entries_[slot].number];
    while (*link != slot + 1) link = &entries_[*link - 1].older;
    *link = entries_[slot].older;
    order_.erase(slot);
    if (free_count_ == 0) next_free_ = slot;
    free_.set(slot);
    ++free_count_;
  }

  // Commit all entries, and release the older copies of their blocks.
  template <class Sink>
  void commit(Sink& sink) {
    uncommitted_ = 0;
    commit_at_ = kNever;
    if (order_.empty() || !waits(order_.front())) return;
    Slot slot = order_.front();
    while (order_.older(slot) != kNoSlot && waits(order_.older(slot))) slot = order_.older(slot);
    ++commits_;
    for (; slot != kNoSlot; slot = order_.newer(slot)) {
      const Slot copy = older(slot);
      if (copy == kNoSlot) continue;
      release(copy);
      sink.replaced(entries_[slot].number);
    }
  }

  // Write the oldest blocks back, with committed neighbours in the origin and in the cache.
  template <class Sink>
  void write_back(Sink& sink) {
    wants_write_back_ = false;
    while (!order_.empty() && (free_count_ <= stop_above_ || is_old(order_.back()))) {
      if (waits(order_.back())) {
        commit(sink);
        continue;
      }
      copied_.assign(1, order_.back());
      while (copied_.size() < kLongestCopy) {
        const std::uint32_t number = entries_[copied_.back()].number;
        const Slot next = following(number, newest(number));
        if (next == kNoSlot || waits(next)) break;
        copied_.push_back(next);
      }
      for (const Slot slot : copied_) {
        release(slot);
        sink.written_back(entries_[slot].number);
      }
    }
  }

  bool is_old(Slot slot) const {
    const Jiffies most = setup_.max_age - setup_.max_age / kAgeChecks;
    return setup_.max_age > 0 && now_ - entries_[slot].inserted >= most;
  }

  void check_age(Jiffies now) {
    const Jiffies ticks = setup_.max_age / kAgeChecks;
    age_check_at_ = timer_expiry(age_check_at_, ticks);
    if (!order_.empty()) {
      wants_write_back_ = true;
    } else if (age_check_at_ < now) {
      // All checks of an empty cache are alike.
      const Jiffies period = timer_expiry(age_check_at_, ticks) - age_check_at_;
      age_check_at_ += (now - age_check_at_) / period * period;
    }
  }

  WritecacheSetup setup_;
  std::size_t start_below_;  // free cache blocks at which write-back starts
  std::size_t stop_above_;
  Pages<Entry> entries_;
  Pages<std::uint32_t> newest_after_;  // by number: the entry of the newest copy + 1; 0: none
  BitArray follows_;                   // by number
  SlotLists<> order_;                  // the newest insertion in front
  BitArray free_;
  std::size_t free_count_;
  Slot next_free_ = 0;
  std::vector<Slot> copied_;
  std::uint32_t commits_ = 0;
  std::size_t uncommitted_ = 0;
  bool wants_write_back_ = false;
  Jiffies now_;
  Jiffies commit_at_ = kNever;
  Jiffies resume_at_ = 0;  // of write-back, after a write around the cache
  Jiffies age_check_at_;
};

}  // namespace mcsim
