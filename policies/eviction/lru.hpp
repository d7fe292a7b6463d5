#pragma once

#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Least recently used. A stack algorithm: a cache holds what any smaller one does,
// and its hits follow from reuse distances.
//
// O(1) an access; 8 bytes a block of the capacity.
class Lru {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "lru",
      .summary = "Evicts the least recently used block.",
      .reference =
          "Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage "
          "hierarchies, IBM Systems Journal 9(2), 1970"};

  Lru(const Params&, const PolicySetup& setup)
      : recency_(setup.slots_for(setup.capacity)), capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      recency_.move_to_front(slot);
      return true;
    }
    if (size() == capacity_) cache.evict_back(recency_);
    recency_.push_front(cache.insert(a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    recency_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict_back(recency_);
    recency_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return recency_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return recency_.slots(); }
  void prefetch(Slot slot) const { recency_.prefetch(slot); }
  absl::Status check() const { return recency_.check(); }
  std::size_t bytes() const { return recency_.bytes(); }

 protected:
  SlotLists<> recency_;  // most recently used first
  Count capacity_;
};

}  // namespace mcsim
