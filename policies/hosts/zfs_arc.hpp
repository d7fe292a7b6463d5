#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"
#include "core/containers/slot_lists.hpp"
#include "policies/hosts/kernel_time.hpp"

namespace mcsim {

struct ZfsArcSetup {
  std::size_t records = 0;  // that the trace accesses
  Count target = 0;         // bytes of the ARC
  Count record_bytes = 1;
  Count overflow = 0;      // bytes above the target at which eviction starts
  Count metadata = 0;      // bytes of buffers of metadata, which stay
  Count other = 0;         // bytes of all else that stays
  bool buffers = true;     // whether the cache of buffers is in front
  Count buffer_shift = 5;  // its size is the target, shifted right by this
  Jiffies hz = 250;
};

// The ARC of OpenZFS (2.4.99, module/zfs/arc.c) for records of one size, with one request in flight
// and evictions that end before the next request. States are MRU, MFU and their ghosts; each has a
// list of its evictable records. A fraction of the data, moved by ghost hits, is the target of MRU.
//
// A record that was just read stays in the cache of buffers (dbuf.c), as a second copy that counts
// in the size. It is on no list until it leaves that cache, in LRU order.
//
// `Sink` receives the records that lose their data:
//
//   void evicted(std::uint32_t record);
//
// O(1) per request. Memory: 19 bytes a record.
class ZfsArc {
 public:
  explicit ZfsArc(const ZfsArcSetup& setup)
      : setup_(setup),
        lists_(setup.records),
        state_(setup.records),
        buffered_(setup.records),
        accessed_(setup.records),
        size_(setup.metadata + setup.other),
        buffers_most_(setup.target >> setup.buffer_shift),
        buffers_least_(buffers_most_ - buffers_most_ * kLowWaterPercent / 100) {}

  bool holds(std::uint32_t record) const {
    return state_[record] == kMru || state_[record] == kMfu;
  }

  // Read a record. Return whether it hits.
  template <class Sink>
  bool read(std::uint32_t record, Nanoseconds time, Sink& sink) {
    run_until(time);
    const bool hit = access(record, time);
    settle(sink);
    return hit;
  }

  // Write a record; unless the write covers the `whole` record, a missing one is read before.
  // The new copy is a new block of the pool: the old one and its ghost are forgotten. Return
  // whether it hits.
  template <class Sink>
  bool write(std::uint32_t record, Nanoseconds time, bool whole, Sink& sink) {
    run_until(time);
    const bool hit = whole ? holds(record) : access(record, time);
    forget(record);
    access(record, time);
    settle(sink);
    return hit;
  }

  // Forget a record, or its ghost.
  void forget(std::uint32_t record) {
    const State state = state_[record];
    if (state == kNone) return;
    size_ -= kHeaderBytes;
    if (holds(record)) size_ -= setup_.record_bytes;
    if (buffered_[record]) remove_buffer(record);
    bytes_[state] -= setup_.record_bytes;
    lists_.erase(record);
    state_[record] = kNone;
  }

  // Records with data.
  Count size() const {
    return (bytes_[kMru] + bytes_[kMfu]) / setup_.record_bytes - lists_.size(kBuffers);
  }
  // The target of MRU in data, in units of 2^-32.
  std::uint64_t mru_share() const { return mru_share_; }
  void prefetch(std::uint32_t record) const { lists_.prefetch(record); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    std::array<Count, kStates> found{};
    for (std::uint32_t record = 0; record < setup_.records; ++record) {
      found[state_[record]] += setup_.record_bytes * (buffered_[record] ? 2 : 1);
    }
    for (std::size_t state = kMru; state < kStates; ++state) {
      if (found[state] == bytes_[state]) continue;
      return internal_error("zfs-arc: state {} has {} bytes, counted {}", state, found[state],
                            bytes_[state]);
    }
    return absl::OkStatus();
  }

 private:
  // A record with a state is on the list of that number, or on that of buffers.
  enum State : std::uint8_t { kNone, kMru, kMfu, kMruGhost, kMfuGhost, kStates };
  static constexpr std::size_t kBuffers = 0;

  // Sizes of arc_buf_hdr_t and dmu_buf_impl_t.
  static constexpr Count kHeaderBytes = 240;
  static constexpr Count kBufferBytes = 368;
  static constexpr Count kLowWaterPercent = 10;
  static constexpr Jiffies kPromotionsPerSecond = 16;
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 32;

  // The cache of buffers shrinks to its low-water mark each second.
  void run_until(Nanoseconds time) {
    if (!setup_.buffers) return;
    if (trim_at_ == 0) trim_at_ = time + kSecond;
    if (trim_at_ > time) return;
    trim();
    trim_at_ += ((time - trim_at_) / kSecond + 1) * kSecond;
  }

  void trim() {
    while (lists_.size(kBuffers) * setup_.record_bytes > buffers_least_) {
      const Slot record = lists_.back(kBuffers);
      remove_buffer(record);
      lists_.move_to_front(state_[record], record);
    }
  }

  void remove_buffer(std::uint32_t record) {
    buffered_[record] = 0;
    bytes_[state_[record]] -= setup_.record_bytes;
    size_ -= setup_.record_bytes + kBufferBytes;
  }

  bool access(std::uint32_t record, Nanoseconds time) {
    const Jiffies now = jiffies_at(time, setup_.hz);
    const bool hit = holds(record);
    if (setup_.buffers && !buffered_[record]) size_ += kBufferBytes;
    if (hit) {
      note_hit(record, now);
    } else {
      note_miss(record);
      accessed_[record] = now;
      add_copy(record);
      lists_.push_front(state_[record], record);
    }
    if (buffered_[record]) {
      lists_.move_to_front(kBuffers, record);
      return hit;
    }
    // A copy for the reader.
    add_copy(record);
    if (!setup_.buffers) {
      size_ -= setup_.record_bytes;
      bytes_[state_[record]] -= setup_.record_bytes;
      lists_.move_to_front(state_[record], record);
      return hit;
    }
    buffered_[record] = 1;
    lists_.move_to_front(kBuffers, record);
    if (lists_.size(kBuffers) * setup_.record_bytes > buffers_most_) {
      trim();
      trim_at_ = time + kSecond;
    }
    return hit;
  }

  // A hit promotes to MFU, unless it comes within 1/16 s.
  void note_hit(std::uint32_t record, Jiffies now) {
    if (state_[record] == kMru) {
      if (now <= accessed_[record] + setup_.hz / kPromotionsPerSecond) return;
      const Count bytes = setup_.record_bytes * (buffered_[record] ? 2 : 1);
      bytes_[kMru] -= bytes;
      bytes_[kMfu] += bytes;
      state_[record] = kMfu;
      if (!buffered_[record]) lists_.move_to_front(kMfu, record);
    }
    accessed_[record] = now;
  }

  // A new record enters MRU, a ghost MFU.
  void note_miss(std::uint32_t record) {
    State& state = state_[record];
    if (state == kNone) {
      size_ += kHeaderBytes;
      state = kMru;
      return;
    }
    lists_.erase(record);
    bytes_[state] -= setup_.record_bytes;
    ghost_hits_[state] += setup_.record_bytes;
    state = kMfu;
  }

  void add_copy(std::uint32_t record) {
    is_overflowing_ |= size_ >= setup_.target + setup_.overflow;
    size_ += setup_.record_bytes;
    bytes_[state_[record]] += setup_.record_bytes;
  }

  template <class Sink>
  void settle(Sink& sink) {
    while (is_overflowing_) is_overflowing_ = evict(sink) > 0 && size_ > setup_.target;
  }

  // Evict down to the target size: MRU down to its own target, then MFU. Then shorten the ghost
  // lists to half of all other data.
  template <class Sink>
  Count evict(Sink& sink) {
    move_share();
    const Count data =
        setup_.target - (size_ - setup_.metadata - bytes_[kMru] - bytes_[kMfu]) - setup_.metadata;
    const Count mru_target = data * static_cast<Count>(mru_share_ >> 16) >> 16;
    const Count excess = size_ - setup_.target;
    const Count from_mru = take(kMru, std::min(excess, bytes_[kMru] - mru_target), sink);
    const Count from_mfu = take(kMfu, excess - from_mru, sink);
    ghosts_most_ = {(bytes_[kMfu] + setup_.metadata) / 2, (bytes_[kMru] + setup_.metadata) / 2};
    take(kMruGhost, bytes_[kMruGhost] - ghosts_most_[0], sink);
    take(kMfuGhost, bytes_[kMfuGhost] - ghosts_most_[1], sink);
    return from_mru + from_mfu;
  }

  // Evict the oldest records of a state. Return their bytes.
  template <class Sink>
  Count take(State state, Count bytes, Sink& sink) {
    Count taken = 0;
    while (taken < bytes && !lists_.empty(state)) {
      const Slot record = lists_.back(state);
      taken += setup_.record_bytes;
      bytes_[state] -= setup_.record_bytes;
      if (state == kMru || state == kMfu) {
        const State ghost = state == kMru ? kMruGhost : kMfuGhost;
        size_ -= setup_.record_bytes;
        bytes_[ghost] += setup_.record_bytes;
        state_[record] = ghost;
        lists_.move_to_front(ghost, record);
        sink.evicted(record);
      } else {
        size_ -= kHeaderBytes;
        state_[record] = kNone;
        lists_.erase(record);
      }
    }
    return taken;
  }

  // Move the target of MRU by the bytes of ghost hits since the last eviction, relative to the
  // size of the ghost lists then. Large moves are scaled down, and moves towards an end damped.
  void move_share() {
    const auto ghosts = static_cast<std::uint64_t>(ghosts_most_[0] + ghosts_most_[1]);
    auto up = static_cast<std::uint64_t>(std::exchange(ghost_hits_[kMruGhost], 0));
    auto down = static_cast<std::uint64_t>(std::exchange(ghost_hits_[kMfuGhost], 0));
    if (ghosts < 32 || up + down == 0) return;
    if (up + down >= ghosts / 16) {
      const std::uint64_t scale = (up + down) / (ghosts / 32);
      up /= scale;
      down /= scale;
    }
    const int bits = std::min(64 - static_cast<int>(std::bit_width(ghosts)), 32);
    const auto share_of = [&](std::uint64_t hits, std::uint64_t share) {
      const std::uint64_t rest = kWhole - share;
      if (share >= 4 * rest) hits /= share / (2 * rest + 1);
      return (hits << bits) / (ghosts >> (32 - bits));
    };
    const std::uint64_t less = share_of(down, kWhole - mru_share_);
    mru_share_ = mru_share_ + share_of(up, mru_share_) - less;
  }

  ZfsArcSetup setup_;
  SlotLists<kStates> lists_;  // the most recently used in front
  Pages<State> state_;
  Pages<std::uint8_t> buffered_;
  Pages<Jiffies> accessed_;  // when it was last accessed, as far as promotions depend on it
  std::array<Count, kStates> bytes_{};
  std::array<Count, kStates> ghost_hits_{};
  std::array<Count, 2> ghosts_most_{};
  std::uint64_t mru_share_ = kWhole / 2;
  Count size_;
  Count buffers_most_;
  Count buffers_least_;
  Nanoseconds trim_at_ = 0;
  bool is_overflowing_ = false;
};

}  // namespace mcsim
