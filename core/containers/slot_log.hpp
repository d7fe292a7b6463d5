#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// A ring of slots without links: a log to which new slots are appended. Erased slots leave holes,
// and a full log is compacted. Each slot has a kind, stored as one bitmap per kind. A clock hand is
// a position in the log: it can prefetch far ahead, and it searches for kinds 64 positions at a
// time.
//
//   log       a b . c . . d e        oldest at a, newest at e, after which comes a
//   kind 0    1 0 0 1 0 0 0 1
//   kind 1    0 1 0 0 0 0 1 0
//
// 12 bytes a slot, and 2 more bits per kind.
template <std::size_t kKinds>
class SlotLog {
 public:
  using Position = std::uint32_t;
  using Kind = std::size_t;

  explicit SlotLog(std::size_t slots) { reserve(slots); }

  std::size_t slots() const { return position_.size(); }
  void reserve(std::size_t slots) {
    if (slots <= this->slots()) return;
    position_.extend(slots);
    const std::size_t words = (kSlack * slots + kMinimum) / kWord;
    log_.extend(words * kWord + kAhead);
    bits_.extend(words + 1);  // the last ones are never set
  }

  Count size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Slot operator[](Position at) const { return log_[at]; }
  Position of(Slot slot) const { return position_[slot]; }
  // The oldest position; in an empty ring, the position of the next insertion.
  Position oldest() const { return oldest_; }
  // A slot most likely in the ring that a hand at this position reaches soon.
  Slot ahead(Position at) const { return log_[at + kAhead]; }

  // A full log must be compacted before the next insertion.
  bool full() const { return end_ == log_.size() - kAhead; }

  // Append the slot as the newest and return its position.
  Position push(Slot slot, Kind kind) {
    assert(!full() && slot < slots());
    const Position at = end_++;
    log_[at] = slot;
    position_[slot] = at;
    bits_[at / kWord][kind] |= bit(at);
    ++size_;
    return at;
  }

  // `kind` and `from` must be the current kind of the slot.
  void erase(Position at, Kind kind) {
    assert(is(kind, at));
    bits_[at / kWord][kind] &= ~bit(at);
    --size_;
    if (at == oldest_) oldest_ = next(at);
  }
  void turn(Position at, Kind from, Kind to) {
    Bits& bits = bits_[at / kWord];
    bits[from] &= ~bit(at);
    bits[to] |= bit(at);
  }

  bool is(Kind kind, Position at) const { return (bits_[at / kWord][kind] & bit(at)) != 0; }

  // The next position round the ring; in an empty ring, the position of the next insertion.
  Position next(Position at) const { return search(any, at + 1); }
  // The next position with one of these kinds; there must be one.
  template <Kind... kinds>
  Position next_of(Position at) const {
    assert(!empty());
    return search(of_kinds<kinds...>, at + 1);
  }

  // Remove the holes. Positions change, including those of hands.
  void compact() {
    const Position end = std::exchange(end_, 0);
    for (Position base = oldest_ / kWord * kWord; base < end; base += kWord) {
      const Bits old = std::exchange(bits_[base / kWord], {});
      for (std::uint64_t left = any(old); left != 0; left &= left - 1) {
        const auto from = static_cast<Position>(std::countr_zero(left));
        const Slot slot = log_[base + from];
        prefetch_line(&position_[ahead(base + from)]);
        const Position to = end_++;
        log_[to] = slot;
        position_[slot] = to;
        for (Kind kind = 0; kind < kKinds; ++kind) {
          bits_[to / kWord][kind] |= (old[kind] >> from & 1) << (to % kWord);
        }
      }
    }
    oldest_ = 0;
  }

  auto state() { return std::tie(position_, log_, bits_, oldest_, end_, size_); }
  std::size_t bytes() const {
    return position_.size() * sizeof(Position) + log_.size() * sizeof(Slot) +
           bits_.size() * sizeof(Bits);
  }

  absl::Status check() const {
    Count held = 0;
    for (Position at = 0; at < end_; ++at) {
      const Bits& bits = bits_[at / kWord];
      const auto kinds =
          std::ranges::count_if(bits, [&](std::uint64_t kind) { return (kind & bit(at)) != 0; });
      if (kinds == 0) continue;
      if (kinds > 1) return internal_error("log: what is at {} is of {} kinds", at, kinds);
      if (held++ == 0 && at != oldest_) {
        return internal_error("log: the oldest is at {}, not {}", at, oldest_);
      }
      if (log_[at] >= slots() || position_[log_[at]] != at) {
        return internal_error("log: slot {} is elsewhere than at {}", log_[at], at);
      }
    }
    if (held == 0 && oldest_ != end_) {
      return internal_error("log: empty, but the next comes at {}, not {}", end_, oldest_);
    }
    if (held == size_) return absl::OkStatus();
    return internal_error("log: has {} elements, not {}", held, size_);
  }

 private:
  // The bits of 64 positions, by kind. A hole has no kind.
  using Bits = std::array<std::uint64_t, kKinds>;

  // Positions for each slot: more means rarer compaction.
  static constexpr std::size_t kSlack = 2;
  static constexpr std::size_t kMinimum = 64;
  static constexpr Position kWord = 64;
  static constexpr Position kAhead = 16;

  static std::uint64_t bit(Position at) { return std::uint64_t{1} << (at % kWord); }

  template <Kind... kinds>
  static std::uint64_t of_kinds(const Bits& bits) {
    return (bits[kinds] | ...);
  }
  static std::uint64_t any(const Bits& bits) {
    return std::reduce(bits.begin(), bits.end(), std::uint64_t{0}, std::bit_or<>());
  }

  // The first position from `from` on, round the ring, that is in a set.
  template <class Set>
  Position search(Set set, Position from) const {
    const std::uint64_t near = set(bits_[from / kWord]) >> (from % kWord);
    if (near == 0) [[unlikely]]
      return search_words(set, from / kWord + 1);
    return from + static_cast<Position>(std::countr_zero(near));
  }
  template <class Set>
  [[gnu::noinline]] Position search_words(Set set, std::size_t word) const {
    if (empty()) return end_;
    const std::size_t words = (end_ + kWord - 1) / kWord;
    for (;; ++word) {
      if (word >= words) word = oldest_ / kWord;
      const std::uint64_t found = set(bits_[word]);
      if (found == 0) continue;
      return static_cast<Position>(word * kWord) + static_cast<Position>(std::countr_zero(found));
    }
  }

  Pages<Position> position_;  // by slot
  Pages<Slot> log_;           // kAhead more entries, for ahead()
  Pages<Bits> bits_;
  Position oldest_ = 0;
  Position end_ = 0;
  Count size_ = 0;
};

}  // namespace mcsim
