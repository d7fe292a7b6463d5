#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

struct BcacheCleanerSetup {
  Count block_sectors = 8;
  Count target_sectors = 0;  // of dirty data
  bool is_limited = true;    // false: writeback_percent is 0
  Nanoseconds delay = 30 * kSecond;
};

// The controller of bcache's write-back (Linux 6.1, drivers/md/bcache/writeback.c). Dirty blocks
// are written in the order of their addresses, in batches of 500. The rate follows the excess of
// dirty sectors over a target, every 5 s. After a batch that had all dirty blocks, it pauses.
//
// Blocks are numbered in the order of addresses here. Times are since the first request.
class BcacheCleaner {
 public:
  BcacheCleaner(const BcacheCleanerSetup& setup, std::size_t blocks)
      : setup_(setup), dirty_((blocks + 63) / 64), batched_((blocks + 63) / 64) {}

  // Call `write(number)` for every block written up to this time.
  template <class Write>
  void run_until(Nanoseconds time, Write write) {
    while (true) {
      const bool is_awake = next_write_ != kNever;
      if (next_round_ <= time && (!is_awake || next_round_ <= next_write_)) {
        if (dirty_count_ == 0 || !setup_.is_limited) {
          skip_rounds(is_awake ? std::min(time, next_write_) : time);
        } else {
          adjust_rate();
        }
      } else if (is_awake && next_write_ <= time) {
        write_next(write);
      } else {
        return;
      }
    }
  }

  // Note that a request was served.
  void note_request(Nanoseconds time) {
    quiet_rounds_ = 0;
    if (is_full_rate_) {
      is_full_rate_ = false;
      rate_ = kLeastRate;
    }
    if (dirty_count_ > 0 && next_write_ == kNever) next_write_ = time;
  }

  void mark_dirty(std::size_t number) {
    dirty_[number / 64] |= bit(number);
    ++dirty_count_;
  }
  // The block is no longer dirty, without having been written.
  void forget(std::size_t number) {
    dirty_[number / 64] &= ~bit(number);
    --dirty_count_;
    if ((batched_[number / 64] & bit(number)) == 0) return;
    batched_[number / 64] &= ~bit(number);
    --batch_size_;
  }

 private:
  static constexpr Nanoseconds kNever = -1;
  static constexpr Nanoseconds kRound = 5 * kSecond;
  static constexpr Count kFirstRate = 1024;
  static constexpr Count kLeastRate = 8;
  static constexpr Count kQuietRounds = 6;
  static constexpr std::size_t kBatch = 500;

  static std::uint64_t bit(std::size_t number) { return std::uint64_t{1} << (number % 64); }

  // Rounds without dirty blocks or without a limit change nothing.
  void skip_rounds(Nanoseconds time) {
    next_round_ += ((time - next_round_) / kRound + 1) * kRound;
  }

  void adjust_rate() {
    next_round_ += kRound;
    if (++quiet_rounds_ >= kQuietRounds) {
      is_full_rate_ = true;
      return;
    }
    const Count excess = setup_.block_sectors * dirty_count_ - setup_.target_sectors;
    if (excess > 0 || integral_ > 0) integral_ += 5 * excess;
    rate_ = std::max(kLeastRate, excess / 40 + integral_ / 10'000);
  }

  template <class Write>
  void write_next(Write write) {
    if (batch_size_ == 0) take_batch();
    if (batch_size_ == 0) {
      next_write_ = kNever;
      return;
    }
    while ((batched_[position_ / 64] & bit(position_)) == 0)
      position_ = next_set(batched_, position_);
    const std::size_t number = position_;
    forget(number);
    write(number);
    const Nanoseconds time = next_write_;
    if (setup_.is_limited && !is_full_rate_) {
      next_write_ += setup_.block_sectors * kSecond / rate_;
    }
    if (batch_size_ == 0 && is_whole_) next_write_ = std::max(next_write_, time + setup_.delay);
  }

  // Take the next dirty blocks in the order of addresses, from the cursor on.
  void take_batch() {
    if (dirty_count_ == 0) return;
    is_whole_ = static_cast<std::size_t>(dirty_count_) <= kBatch;
    const std::size_t count = std::min<std::size_t>(static_cast<std::size_t>(dirty_count_), kBatch);
    position_ = first_from(dirty_, cursor_);
    std::size_t number = position_;
    for (batch_size_ = 1;; ++batch_size_) {
      batched_[number / 64] |= bit(number);
      if (batch_size_ == count) break;
      number = next_set(dirty_, number);
    }
    cursor_ = number + 1;
  }

  // Return the first number in the set from this one on, or from 0 on. The set is not empty.
  static std::size_t first_from(const std::vector<std::uint64_t>& set, std::size_t number) {
    std::size_t word = number / 64;
    std::uint64_t rest = word < set.size() ? set[word] & (~std::uint64_t{0} << (number % 64)) : 0;
    while (rest == 0) {
      word = word + 1 < set.size() ? word + 1 : 0;
      rest = set[word];
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
  }
  static std::size_t next_set(const std::vector<std::uint64_t>& set, std::size_t number) {
    return first_from(set, number + 1);
  }

  BcacheCleanerSetup setup_;
  std::vector<std::uint64_t> dirty_;
  std::vector<std::uint64_t> batched_;
  Count dirty_count_ = 0;
  std::size_t batch_size_ = 0;
  bool is_whole_ = false;
  std::size_t position_ = 0;  // at or before the first block of the batch
  std::size_t cursor_ = 0;    // after the last block of the batch
  Count rate_ = kFirstRate;   // sectors per second
  Count integral_ = 0;
  Count quiet_rounds_ = 0;
  bool is_full_rate_ = false;
  Nanoseconds next_write_ = kNever;
  Nanoseconds next_round_ = kRound;
};

}  // namespace mcsim
