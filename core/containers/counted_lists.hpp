#pragma once

#include <cstddef>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/two_experts.hpp"
#include "core/containers/slot_heap.hpp"
#include "core/containers/weighed_lists.hpp"

namespace mcsim {

// Lists of slots, the access counts of resident slots, and per-slot data of a policy. Policies use
// them to evict the least recently or the least frequently used block.
template <std::size_t kLists, class Block>
class CountedLists {
 public:
  explicit CountedLists(std::size_t slots)
      : lists_(slots), counts_(lists_.slots()), blocks_(lists_.slots()) {}

  std::size_t slots() const { return lists_.slots(); }
  void prefetch(Slot slot) const {
    lists_.prefetch(slot);
    counts_.prefetch(slot);
    prefetch_line(&blocks_[slot]);
  }
  std::size_t bytes() const {
    return lists_.bytes() + counts_.bytes() + blocks_.size() * sizeof(Block);
  }

 protected:
  void reserve(std::size_t slots) {
    lists_.reserve(slots);
    counts_.reserve(slots);
    if (slots > blocks_.size()) blocks_.extend(slots);
  }

  WeighedLists<kLists> lists_;
  SlotHeap<CountAndTie> counts_;
  Pages<Block> blocks_;
};

}  // namespace mcsim
