#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/containers/slot.hpp"

namespace mcsim {

// Selects the slots with the least weights in one pass, then returns them in order. The order of
// equal weights is that of the kernel's heaps: a slot that equals the greatest one is not added,
// and of two equal children the left one rises.
class BoundedHeap {
 public:
  explicit BoundedHeap(std::size_t limit) : limit_(limit) {}

  void clear() { entries_.clear(); }
  bool empty() const { return entries_.empty(); }
  bool is_full() const { return entries_.size() >= limit_; }
  // No slot with this weight or more enters a full heap. Call it before turn().
  std::uint32_t greatest_weight() const { return entries_.front().weight; }
  Slot top() const { return entries_.front().slot; }

  // Add a slot while there is space, or if it has less weight than the greatest one.
  [[gnu::always_inline]] void offer(std::uint32_t weight, Slot slot) {
    if (entries_.size() < limit_) {
      entries_.push_back({weight, slot});
      add_last();
    } else if (weight < entries_.front().weight) {
      entries_.front() = {weight, slot};
      sink(0, greater);
    }
  }
  // After the last offer: order the slots by weight, the least first.
  void turn() {
    for (std::size_t i = entries_.size() / 2; i-- > 0;) sink(i, less);
  }
  void pop() {
    std::swap(entries_.front(), entries_.back());
    entries_.pop_back();
    sink(0, less);
  }

 private:
  struct Entry {
    std::uint32_t weight;
    Slot slot;
  };
  static bool less(const Entry& a, const Entry& b) { return a.weight < b.weight; }
  static bool greater(const Entry& a, const Entry& b) { return a.weight > b.weight; }

  // Let the last entry rise above parents that do not exceed it, and then sink.
  void add_last() {
    std::size_t i = entries_.size() - 1;
    while (i > 0 && !less(entries_[i], entries_[(i - 1) / 2])) {
      std::swap(entries_[i], entries_[(i - 1) / 2]);
      i = (i - 1) / 2;
    }
    sink(i, greater);
  }

  // Let an entry sink while it does not come before its child.
  template <class Before>
  void sink(std::size_t i, Before before) {
    while (2 * i + 1 < entries_.size()) {
      std::size_t child = 2 * i + 1;
      if (child + 1 < entries_.size() && before(entries_[child + 1], entries_[child])) ++child;
      if (before(entries_[i], entries_[child])) break;
      std::swap(entries_[i], entries_[child]);
      i = child;
    }
  }

  std::size_t limit_;
  std::vector<Entry> entries_;
};

}  // namespace mcsim
