#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"
#include "core/containers/slot_lists.hpp"

namespace mcsim {

// The cache lines of Open CAS (src/ocf_lru.c): 32 lists of free, of clean and of dirty ones. A line
// belongs to lists by its number. The newer half of a list is hot; hits there move nothing.
//
// Lines of the origin are those of the trace. O(1) per call, except for `take` and `coldest`.
// Memory: 41 bytes a cache line, 4 bytes a line of the trace.
class OpenCasLines {
 public:
  static constexpr std::size_t kLists = 32;
  static constexpr std::uint32_t kChunk = 256;

  enum class State : std::uint8_t { kFree, kClean, kDirty };

  struct Line {
    std::uint64_t valid = 0;  // bits of its blocks
    std::uint64_t dirty = 0;
    std::uint32_t line = 0;     // of the trace, if it is mapped
    std::uint32_t request = 0;  // the last one that mapped it
    std::uint32_t written = 0;  // second of the last write, while dirty
    bool is_hot = false;
  };

  // A walk over lists in turn: kChunk lines of a list that has some, one less of the first.
  class Turn {
   public:
    explicit Turn(std::uint32_t first) : place_(first % kLists) {}
    bool has_lists() const { return left_ != 0; }
    std::uint32_t next() {
      if (++taken_ >= kChunk || (left_ >> place_ & 1) == 0) {
        taken_ = 0;
        const auto rotated = std::rotr(left_, static_cast<int>(place_ + 1));
        place_ = (place_ + 1 + static_cast<std::uint32_t>(std::countr_zero(rotated))) % kLists;
      }
      return place_;
    }
    void drop() { left_ &= ~(std::uint32_t{1} << place_); }

   private:
    std::uint32_t place_;
    std::uint32_t taken_ = 0;
    std::uint32_t left_ = ~std::uint32_t{0};
  };

  OpenCasLines(std::size_t lines, std::size_t trace_lines)
      : lines_(lines), lists_(lines), slot_after_(trace_lines), free_(static_cast<Count>(lines)) {
    last_hot_.fill(kNoSlot);
    for (std::uint32_t place = 0; place < kLists; ++place) free_chunks(place);
  }

  std::size_t size() const { return lines_.size(); }
  Count free() const { return free_; }
  Count dirty() const { return dirty_; }
  Line& operator[](Slot slot) { return lines_[slot]; }
  const Line& operator[](Slot slot) const { return lines_[slot]; }
  Slot find(std::uint32_t line) const { return slot_after_[line] - 1; }

  // Move a cold line to the front of its list.
  void touch(Slot slot) {
    if (lines_[slot].is_hot) return;
    const std::size_t list = lists_.list_of(slot);
    if (lists_.size(list) < 2) return;
    lists_.move_to_front(list, slot);
    lines_[slot].is_hot = true;
    cool_last(list);
  }

  // Move a line to the lists of another state.
  void move(Slot slot, State state) {
    const State from = state_of(slot);
    free_ += (state == State::kFree ? 1 : 0) - (from == State::kFree ? 1 : 0);
    dirty_ += (state == State::kDirty ? 1 : 0) - (from == State::kDirty ? 1 : 0);
    erase(slot);
    push(list_in(slot, state), slot);
  }

  // Free a clean line.
  void release(Slot slot) {
    unmap(slot);
    move(slot, State::kFree);
  }

  // Map the `needed` lines of a request to free lines, or, if too few are free, to the oldest clean
  // ones that this request did not map. Return how many were mapped. `evicted` is called with the
  // slot of each line that leaves.
  template <class Evicted>
  std::size_t take(std::span<const std::uint32_t> needed, std::uint32_t request,
                   std::vector<Slot>& slots, Evicted&& evicted) {
    const bool from_free = free_ >= static_cast<Count>(needed.size());
    const State state = from_free ? State::kFree : State::kClean;
    Turn turn = next_turn();
    slots.clear();
    for (const std::uint32_t line : needed) {
      Slot slot = slots.empty() || from_free ? kNoSlot : following(slots.back(), request);
      if (slot != kNoSlot) {
        turn.next();
      } else {
        slot = oldest(state, turn, request);
      }
      if (slot == kNoSlot) break;
      if (!from_free) {
        evicted(slot);
        unmap(slot);
      }
      move(slot, State::kClean);
      lines_[slot].line = line;
      lines_[slot].request = request;
      slot_after_[line] = slot + 1;
      slots.push_back(slot);
    }
    return slots.size();
  }

  // The coldest dirty lines of all lists in turn.
  void coldest(std::size_t most, std::vector<Slot>& found) {
    next_turn();  // for the class of prefetched lines, which is empty
    Turn turn = next_turn();
    std::array<Slot, kLists> at{};
    for (std::size_t i = 0; i < kLists; ++i) at[i] = lists_.back(list(i, State::kDirty));
    while (found.size() < most && turn.has_lists()) {
      const std::uint32_t place = turn.next();
      if (at[place] == kNoSlot) {
        turn.drop();
        continue;
      }
      found.push_back(at[place]);
      at[place] = lists_.newer(at[place]);
    }
  }

  void prefetch(std::uint32_t line) const { prefetch_line(&slot_after_[line]); }
  void prefetch_cached(std::uint32_t line) const {
    if (const Slot slot = find(line); slot != kNoSlot) prefetch_line(&lines_[slot]);
  }
  std::size_t bytes() const { return lines_.bytes() + lists_.bytes() + slot_after_.bytes(); }

  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    for (std::size_t place = 0; place < kLists; ++place) {
      for (const State state : {State::kClean, State::kDirty}) {
        MCSIM_RETURN_IF_ERROR(check_list(list(place, state), state == State::kDirty));
      }
    }
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kStates = 3;

  static std::size_t list(std::size_t place, State state) {
    return place * kStates + static_cast<std::size_t>(state);
  }
  static std::size_t list_in(Slot slot, State state) { return list(slot / kChunk % kLists, state); }
  State state_of(Slot slot) const { return static_cast<State>(lists_.list_of(slot) % kStates); }
  static bool is_free_list(std::size_t list) { return list % kStates == 0; }

  // The chunks of a list are freed in the order of their numbers with reversed bits.
  void free_chunks(std::uint32_t place) {
    constexpr std::size_t kStripe = kLists * kChunk;
    const std::size_t first = place * std::size_t{kChunk};
    if (first >= lines_.size()) return;
    const std::size_t chunks = (lines_.size() - first + kStripe - 1) / kStripe;
    const int bits = std::max(static_cast<int>(std::bit_width(chunks - 1)), 1);
    for (std::size_t i = 0; i < std::size_t{1} << bits; ++i) {
      std::size_t chunk = 0;
      for (int bit = 0; bit < bits; ++bit) chunk |= (i >> bit & 1) << (bits - 1 - bit);
      if (chunk >= chunks) continue;
      const std::size_t begin = first + chunk * kStripe;
      const std::size_t end = std::min(begin + kChunk, lines_.size());
      for (std::size_t slot = begin; slot < end; ++slot) {
        lists_.push_front(list(place, State::kFree), static_cast<Slot>(slot));
      }
    }
  }

  Turn next_turn() { return Turn(turn_++ + kLists - 1); }

  Slot oldest(State state, Turn& turn, std::uint32_t request) const {
    while (turn.has_lists()) {
      Slot slot = lists_.back(list(turn.next(), state));
      while (slot != kNoSlot && state != State::kFree && lines_[slot].request == request) {
        slot = lists_.newer(slot);
      }
      if (slot != kNoSlot) return slot;
      turn.drop();
    }
    return kNoSlot;
  }

  // The next cache line, if it may be evicted along with one.
  Slot following(Slot slot, std::uint32_t request) const {
    if (slot + std::size_t{1} == lines_.size()) return kNoSlot;
    const Slot next = slot + 1;
    const bool may =
        state_of(next) == State::kClean && !lines_[next].is_hot && lines_[next].request != request;
    return may ? next : kNoSlot;
  }

  void unmap(Slot slot) {
    slot_after_[lines_[slot].line] = 0;
    lines_[slot].valid = 0;
  }

  // The last hot line becomes cold, and the newer one is the last.
  void cool_last(std::size_t list) {
    const Slot last = last_hot_[list];
    lines_[last].is_hot = false;
    last_hot_[list] = lists_.newer(last);
  }

  void push(std::size_t list, Slot slot) {
    lists_.push_front(list, slot);
    const Count size = lists_.size(list);
    if (is_free_list(list) || size < 2) return;
    lines_[slot].is_hot = true;
    if (size == 2) last_hot_[list] = slot;
    if (size % 2 == 1) cool_last(list);
  }

  void erase(Slot slot) {
    const std::size_t list = lists_.list_of(slot);
    if (is_free_list(list)) return lists_.erase(slot);
    const Count size = lists_.size(list);
    const bool was_hot = lines_[slot].is_hot;
    lines_[slot].is_hot = false;
    if (last_hot_[list] == slot) last_hot_[list] = lists_.newer(slot);
    lists_.erase(slot);
    if (was_hot && size % 2 == 1) {
      const Slot last = last_hot_[list];
      last_hot_[list] = last == kNoSlot ? lists_.front(list) : lists_.older(last);
      lines_[last_hot_[list]].is_hot = true;
    } else if (!was_hot && size % 2 == 0) {
      cool_last(list);
    }
  }

  absl::Status check_list(std::size_t list, bool is_dirty) const {
    Count position = 0;
    for (Slot slot = lists_.front(list); slot != kNoSlot; slot = lists_.older(slot)) {
      const Line& line = lines_[slot];
      const bool is_hot = position++ < lists_.size(list) / 2;
      if (line.is_hot != is_hot || (line.dirty != 0) != is_dirty || find(line.line) != slot) {
        return internal_error("list {}: line {} is hot {}, dirty {}, mapped to {}", list, slot,
                              line.is_hot, line.dirty, find(line.line));
      }
    }
    return absl::OkStatus();
  }

  Pages<Line> lines_;
  SlotLists<kLists * kStates> lists_;
  std::array<Slot, kLists * kStates> last_hot_{};
  Pages<std::uint32_t> slot_after_;  // by line of the trace; 0: none
  Count free_;
  Count dirty_ = 0;
  std::uint32_t turn_ = 0;
};

}  // namespace mcsim
