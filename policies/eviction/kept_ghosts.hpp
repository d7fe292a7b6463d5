#pragma once

#include <cstddef>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_lists.hpp"

namespace mcsim {

// Ghosts that stay remembered while their blocks are cached again, newest first, each with a
// weight.
//
// 16 bytes per slot.
class KeptGhosts {
 public:
  explicit KeptGhosts(std::size_t slots) : order_(slots), marks_(slots) {}

  void reserve(std::size_t slots) {
    order_.reserve(slots);
    marks_.extend(order_.slots());
  }
  bool contains(Slot slot) const { return order_.slots() > 0 && marks_[slot] > 0; }
  Count weight() const { return weight_; }
  Slot back() const { return order_.back(); }

  void push_front(Slot slot, Count weight) {
    order_.push_front(slot);
    marks_[slot] = weight + 1;
    weight_ += weight;
  }
  void move_to_front(Slot slot) { order_.move_to_front(slot); }
  void erase(Slot slot) {
    order_.erase(slot);
    weight_ -= marks_[slot] - 1;
    marks_[slot] = 0;
  }

  absl::Status check() const { return order_.check(); }
  std::size_t bytes() const { return order_.bytes() + marks_.size() * sizeof(Count); }
  auto state() { return std::tie(order_, marks_, weight_); }

 private:
  SlotLists<> order_;
  Pages<Count> marks_;  // the weight plus one; 0 for a slot that is not remembered
  Count weight_ = 0;
};

}  // namespace mcsim
