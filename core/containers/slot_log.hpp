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
// 16 bytes a slot and, for being held and for each mark, 3 bits more.
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
    held_.extend(words);
    for (Bits& marks : marks_) marks.extend(words);
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

  // Becomes the newest, without marks.
  void push(Slot slot) {
    log_[end_] = slot;
    position_[slot] = end_;
    set(held_, end_);
    if (size_++ == 0) oldest_ = end_;
    ++end_;
  }

  void erase(Position at) {
    clear(held_, at);
    for (Bits& marks : marks_) clear(marks, at);
    if (--size_ > 0 && at == oldest_) oldest_ = next(at);
  }

  bool marked(Mark mark, Position at) const { return is_set(marks_[mark], at); }
  void mark(Mark mark, Position at) { set(marks_[mark], at); }
  void unmark(Mark mark, Position at) { clear(marks_[mark], at); }

  // The next position round the ring, which is not empty.
  Position next(Position at) const { return search(held_, at + 1); }
  // The next one with a mark: some have it.
  Position next(Mark mark, Position at) const { return search(marks_[mark], at + 1); }

  // Squeezes the holes out. Positions change, those of hands in use too.
  void squeeze() {
    const Position end = std::exchange(end_, 0);
    for (Position base = oldest_ / kWord * kWord; base < end; base += kWord) {
      const std::size_t word = base / kWord;
      std::array<std::uint64_t, kMarks> marks;
      for (Mark mark = 0; mark < kMarks; ++mark) marks[mark] = std::exchange(marks_[mark][word], 0);
      for (std::uint64_t left = std::exchange(held_[word], 0); left != 0; left &= left - 1) {
        const auto bit = static_cast<Position>(std::countr_zero(left));
        prefetch_line(&position_[ahead(base + bit)]);
        const Position to = end_++;
        const Slot slot = log_[base + bit];
        log_[to] = slot;
        position_[slot] = to;
        set(held_, to);
        for (Mark mark = 0; mark < kMarks; ++mark) {
          marks_[mark][to / kWord] |= (marks[mark] >> bit & 1) << (to % kWord);
        }
      }
    }
    oldest_ = 0;
  }

  std::size_t bytes() const {
    return position_.size() * sizeof(Position) + log_.size() * sizeof(Slot) +
           (1 + kMarks) * held_.size() * sizeof(std::uint64_t);
  }

  absl::Status check() const {
    Count held = 0;
    for (Position at = 0; at < end_; ++at) {
      if (!is_set(held_, at)) {
        for (const Bits& marks : marks_) {
          if (is_set(marks, at)) return internal_error("log: the hole at {} has a mark", at);
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
  using Bits = Pages<std::uint64_t>;  // one a position

  // Positions for each slot: more means rarer squeezing.
  static constexpr std::size_t kSlack = 3;
  static constexpr std::size_t kMinimum = 64;
  static constexpr Position kWord = 64;
  static constexpr Position kAhead = 16;

  static bool is_set(const Bits& bits, Position at) {
    return (bits[at / kWord] >> (at % kWord) & 1) != 0;
  }
  static void set(Bits& bits, Position at) { bits[at / kWord] |= std::uint64_t{1} << (at % kWord); }
  static void clear(Bits& bits, Position at) {
    bits[at / kWord] &= ~(std::uint64_t{1} << (at % kWord));
  }

  // The first bit that is set from a position on, round the ring.
  Position search(const Bits& bits, Position from) const {
    const std::size_t words = (end_ + kWord - 1) / kWord;
    std::size_t word = from / kWord;
    std::uint64_t found = word < words ? bits[word] >> (from % kWord) << (from % kWord) : 0;
    while (found == 0) {
      if (++word >= words) word = oldest_ / kWord;
      found = bits[word];
    }
    return static_cast<Position>(word * kWord) + static_cast<Position>(std::countr_zero(found));
  }

  Pages<Position> position_;  // by slot
  Pages<Slot> log_;           // and kAhead more, for who looks ahead
  Bits held_;
  std::array<Bits, kMarks> marks_;
  Position oldest_ = 0;
  Position end_ = 0;
  Count size_ = 0;
};

}  // namespace mcsim
