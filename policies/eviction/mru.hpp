#pragma once

#include "policies/eviction/lru.hpp"

namespace mcsim {

// Most recently used: the data structure of LRU with victims from the other end. Optimal for a loop
// that does not fit.
//
// O(1) per access; 8 bytes per block of the capacity.
class Mru : public Lru {
 public:
  static constexpr ComponentInfo kInfo{
      .name = "mru",
      .summary = "Evicts the most recently used block.",
      .reference =
          "Chou, DeWitt: An evaluation of buffer management strategies for relational "
          "database systems, VLDB 1985"};

  static constexpr bool kWeighs = false;

  using Lru::Lru;

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      blocks_.move_to_front(slot);
      return true;
    }
    if (size() == capacity_) {
      cache.replace(blocks_.front(), a.block);
    } else {
      blocks_.push_front(cache.insert(a.block));
    }
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) {
      const Slot victim = blocks_.front();
      blocks_.erase(victim);
      cache.evict(victim);
    }
    blocks_.reserve(cache.slots_for(capacity_));
  }
};

}  // namespace mcsim
