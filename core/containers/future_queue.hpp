#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/integer_set.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// Slots ordered by their next use, a position in a trace, the farthest first. Among slots that are
// never used again, the last one inserted comes first.
//
// Positions are divided into ranges of 64, each with a list of its slots; a set stores which lists
// are not empty. Only the last nonempty list is searched for the farthest slot. It is short: next
// uses are dense in the near future and sparse in the far future.
//
// O(1) an operation, nearly; 12 bytes a slot, half a bit a position.
class FutureQueue {
 public:
  using Position = std::uint32_t;
  static constexpr Position kNever = std::numeric_limits<Position>::max();

  FutureQueue(std::size_t positions, std::size_t slots)
      : never_((positions + kRangeLength - 1) / kRangeLength),
        first_after_(never_ + 1),
        not_empty_(never_ + 1),
        nodes_(slots) {}

  std::size_t slots() const { return nodes_.size(); }
  void reserve(std::size_t slots) {
    if (slots > nodes_.size()) nodes_.extend(slots);
  }

  Count size() const { return size_; }

  void insert(Slot slot, Position use) {
    const std::size_t list = list_of(use);
    assert(slot < slots() && list <= never_);
    Slot& first_after = first_after_[list];
    nodes_[slot] = {.before = kNoSlot, .after = first_after - 1, .use = use};
    if (first_after == 0) {
      not_empty_.insert(list);
    } else {
      nodes_[first_after - 1].before = slot;
    }
    first_after = slot + 1;
    ++size_;
  }

  void erase(Slot slot) {
    const auto [before, after, use] = nodes_[slot];
    if (after != kNoSlot) nodes_[after].before = before;
    if (before != kNoSlot) {
      nodes_[before].after = after;
    } else {
      const std::size_t list = list_of(use);
      first_after_[list] = after + 1;
      if (after == kNoSlot) not_empty_.erase(list);
    }
    --size_;
  }

  // The queue must not be empty.
  Slot farthest() const {
    assert(size_ > 0);
    const std::size_t list = not_empty_.largest();
    Slot farthest = first_after_[list] - 1;
    if (list == never_) return farthest;
    for (Slot slot = nodes_[farthest].after; slot != kNoSlot; slot = nodes_[slot].after) {
      if (nodes_[slot].use > nodes_[farthest].use) farthest = slot;
    }
    return farthest;
  }

  Position use(Slot slot) const { return nodes_[slot].use; }

  // Prefetch for a later call with this slot, or with this next use.
  void prefetch(Slot slot) const { prefetch_line(&nodes_[slot]); }
  void prefetch_use(Position use) const { prefetch_line(&first_after_[list_of(use)]); }

  std::size_t bytes() const {
    return nodes_.size() * sizeof(Node) + first_after_.size() * sizeof(Slot) + not_empty_.bytes();
  }

  absl::Status check() const {
    Count walked = 0;
    for (std::size_t list = 0; list <= never_; ++list) {
      const Slot first = first_after_[list] - 1;
      if (not_empty_.contains(list) != (first != kNoSlot)) {
        return internal_error("future: list {} is taken for what it is not", list);
      }
      Slot before = kNoSlot;
      for (Slot slot = first; slot != kNoSlot; before = slot, slot = nodes_[slot].after) {
        if (slot >= slots() || nodes_[slot].before != before || list_of(nodes_[slot].use) != list ||
            ++walked > size_) {
          return internal_error("future: list {} is torn at its element {}", list, slot);
        }
      }
    }
    if (walked == size_) return absl::OkStatus();
    return internal_error("future: has {} elements, not {}", walked, size_);
  }

 private:
  struct Node {
    Slot before;  // kNoSlot at the ends
    Slot after;
    Position use;
  };
  static constexpr Position kRangeLength = 64;

  std::size_t list_of(Position use) const { return use == kNever ? never_ : use / kRangeLength; }

  std::size_t never_;        // the list of slots never used again
  Pages<Slot> first_after_;  // by list: its first slot + 1; 0 if it is empty
  IntegerSet not_empty_;
  Pages<Node> nodes_;
  Count size_ = 0;
};

}  // namespace mcsim
