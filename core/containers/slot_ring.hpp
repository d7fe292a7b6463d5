#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/slot.hpp"

namespace mcsim {

// A clock: slots in a ring with a hand, which points to the oldest. New slots are inserted behind
// the hand. Reusing the slot of the victim under the hand for a new block costs one step of the
// hand and changes no link. Eight bytes a slot.
class SlotRing {
 public:
  explicit SlotRing(std::size_t slots) : nodes_(slots) {}

  std::size_t slots() const { return nodes_.size(); }
  void reserve(std::size_t slots) {
    if (slots > nodes_.size()) nodes_.extend(slots);
  }

  Count size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Slot hand() const { return hand_; }
  void advance() {
    assert(!empty());
    hand_ = nodes_[hand_].newer;
  }

  // Insert behind the hand, as the newest.
  void insert(Slot slot) {
    assert(slot < slots());
    if (size_++ == 0) {
      nodes_[slot] = {.newer = slot, .older = slot};
      hand_ = slot;
      return;
    }
    const Slot newest = nodes_[hand_].older;
    nodes_[slot] = {.newer = hand_, .older = newest};
    nodes_[newest].newer = slot;
    nodes_[hand_].older = slot;
  }

  // The hand advances if it points to the slot.
  void erase(Slot slot) {
    assert(!empty());
    if (slot == hand_) advance();
    const auto [newer, older] = nodes_[slot];
    nodes_[newer].older = older;
    nodes_[older].newer = newer;
    --size_;
  }

  Slot pop() {
    const Slot slot = hand_;
    erase(slot);
    return slot;
  }

  // Prefetch for a later call with this slot.
  void prefetch(Slot slot) const { prefetch_line(&nodes_[slot]); }

  auto state() { return std::tie(nodes_, hand_, size_); }
  std::size_t bytes() const { return nodes_.size() * sizeof(Node); }

  absl::Status check() const {
    Count walked = 0;
    for (Slot slot = hand_; walked < size_; ++walked) {
      const Slot newer = nodes_[slot].newer;
      if (newer >= nodes_.size() || nodes_[newer].older != slot) {
        return internal_error("ring: the links at its element {} disagree", walked);
      }
      slot = newer;
      if (slot == hand_ && walked + 1 != size_) {
        return internal_error("ring: has {} elements, not {}", walked + 1, size_);
      }
      if (slot != hand_ && walked + 1 == size_) {
        return internal_error("ring: does not close after {} elements", size_);
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Node {
    Slot newer;
    Slot older;
  };

  Pages<Node> nodes_;
  Slot hand_ = kNoSlot;
  Count size_ = 0;
};

}  // namespace mcsim
