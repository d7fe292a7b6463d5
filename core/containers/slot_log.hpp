#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// Slots in a ring without links: a log to whose end newcomers go. Who leaves makes a
// hole, and when the log is full the holes are squeezed out. A hand on the ring is a
// position; it sees what comes far ahead, and finds what it looks for by marks, 64
// positions at a time.
//
//   log       a b . c . . d e        oldest at a, newest at e, after which comes a
//   held      1 1 0 1 0 0 1 1
//   a mark    0 1 0 0 0 0 1 0
//
// 12 bytes a slot and, for being held and for each mark, 2 bits more.
template <std::size_t kMarks>
class SlotLog {
 public:
  using Position = std::uint32_t;
  using Mark = std::size_t;

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
  // Of a ring that is not empty.
  Position oldest() const { return oldest_; }
  // A slot that is most likely in the ring, and that a hand at this position gets to soon.
  Slot ahead(Position at) const { return log_[at + kAhead]; }

  // A full log takes no newcomer before it is squeezed.
  bool full() const { return end_ == log_.size() - kAhead; }

  // Becomes the newest, without marks; where it is.
  Position push(Slot slot) {
    const Position at = end_++;
    log_[at] = slot;
    position_[slot] = at;
    bits_[at / kWord][kHeld] |= bit(at);
    if (size_++ == 0) oldest_ = at;
    return at;
  }

  void erase(Position at) {
    for (std::uint64_t& word : bits_[at / kWord]) word &= ~bit(at);
    if (--size_ > 0 && at == oldest_) oldest_ = next(at);
  }

  bool marked(Mark mark, Position at) const { return (bits_[at / kWord][mark] & bit(at)) != 0; }
  void mark(Mark mark, Position at) { bits_[at / kWord][mark] |= bit(at); }
  void unmark(Mark mark, Position at) { bits_[at / kWord][mark] &= ~bit(at); }

  // The next position round the ring, which is not empty.
  Position next(Position at) const { return next(kHeld, at); }
  // The next one with a mark: some have it.
  Position next(Mark mark, Position at) const { return search(mark, at + 1); }

  // Squeezes the holes out. Positions change, those of hands in use too.
  void squeeze() {
    const Position end = std::exchange(end_, 0);
    for (Position base = oldest_ / kWord * kWord; base < end; base += kWord) {
      const Bits old = std::exchange(bits_[base / kWord], {});
      for (std::uint64_t left = old[kHeld]; left != 0; left &= left - 1) {
        const auto from = static_cast<Position>(std::countr_zero(left));
        const Slot slot = log_[base + from];
        prefetch_line(&position_[ahead(base + from)]);
        const Position to = end_++;
        log_[to] = slot;
        position_[slot] = to;
        for (Mark mark = 0; mark <= kHeld; ++mark) {
          bits_[to / kWord][mark] |= (old[mark] >> from & 1) << (to % kWord);
        }
      }
    }
    oldest_ = 0;
  }

  std::size_t bytes() const {
    return position_.size() * sizeof(Position) + log_.size() * sizeof(Slot) +
           bits_.size() * sizeof(Bits);
  }

  absl::Status check() const {
    Count held = 0;
    for (Position at = 0; at < end_; ++at) {
      if (!marked(kHeld, at)) {
        for (Mark mark = 0; mark < kMarks; ++mark) {
          if (marked(mark, at)) return internal_error("log: the hole at {} has a mark", at);
        }
        continue;
      }
      if (held++ == 0 && at != oldest_) {
        return internal_error("log: the oldest is at {}, not {}", at, oldest_);
      }
      if (log_[at] >= slots() || position_[log_[at]] != at) {
        return internal_error("log: slot {} is elsewhere than at {}", log_[at], at);
      }
    }
    if (held == size_) return absl::OkStatus();
    return internal_error("log: has {} elements, not {}", held, size_);
  }

 private:
  // Of 64 positions: the marks, and last whether they are held.
  using Bits = std::array<std::uint64_t, kMarks + 1>;
  static constexpr Mark kHeld = kMarks;

  // Positions for each slot: more means rarer squeezing.
  static constexpr std::size_t kSlack = 2;
  static constexpr std::size_t kMinimum = 64;
  static constexpr Position kWord = 64;
  static constexpr Position kAhead = 16;

  static std::uint64_t bit(Position at) { return std::uint64_t{1} << (at % kWord); }

  // The first mark from a position on, round the ring.
  Position search(Mark mark, Position from) const {
    const std::uint64_t near = bits_[from / kWord][mark] >> (from % kWord);
    if (near == 0) [[unlikely]]
      return search_words(mark, from / kWord + 1);
    return from + static_cast<Position>(std::countr_zero(near));
  }
  [[gnu::noinline]] Position search_words(Mark mark, std::size_t word) const {
    const std::size_t words = (end_ + kWord - 1) / kWord;
    for (;; ++word) {
      if (word >= words) word = oldest_ / kWord;
      const std::uint64_t found = bits_[word][mark];
      if (found == 0) continue;
      return static_cast<Position>(word * kWord) + static_cast<Position>(std::countr_zero(found));
    }
  }

  Pages<Position> position_;  // by slot
  Pages<Slot> log_;           // and kAhead more, for who looks ahead
  Pages<Bits> bits_;
  Position oldest_ = 0;
  Position end_ = 0;
  Count size_ = 0;
};

}  // namespace mcsim
