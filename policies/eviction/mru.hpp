#pragma once

#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Most recently used: the best there is for a loop that does not fit.
//
// O(1) an access; 8 bytes a block of the capacity.
class Mru {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "mru",
      .summary = "Evicts the most recently used block.",
      .reference =
          "Chou, DeWitt: An evaluation of buffer management strategies for relational "
          "database systems, VLDB 1985"};

  Mru(const Params&, const PolicySetup& setup)
      : recency_(setup.slots_for(setup.capacity)), capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      recency_.move_to_front(slot);
      return true;
    }
    if (size() == capacity_) {
      cache.replace(recency_.front(), a.block);
    } else {
      recency_.push_front(cache.insert(a.block));
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    recency_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) {
      const Slot victim = recency_.front();
      recency_.erase(victim);
      cache.evict(victim);
    }
    recency_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return recency_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return recency_.slots(); }
  void prefetch(Slot slot) const { recency_.prefetch(slot); }
  absl::Status check() const { return recency_.check(); }
  std::size_t bytes() const { return recency_.bytes(); }

 private:
  SlotLists<> recency_;  // most recently used first
  Count capacity_;
};

}  // namespace mcsim
