#pragma once

#include "core/containers/slot_ring.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// First in, first out: the order in which blocks came in, hits or not. The victim's
// slot is the newcomer's, so the hand goes round an order that does not change.
//
// O(1) an access, hits touch nothing; 8 bytes a block of the capacity.
class Fifo {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "fifo",
      .summary = "Evicts the block that came in first.",
      .reference =
          "Belady: A study of replacement algorithms for a virtual-storage computer, "
          "IBM Systems Journal 5(2), 1966"};

  Fifo(const Params&, const PolicySetup& setup)
      : arrivals_(setup.slots_for(setup.capacity)), capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (cache.find(a.block) != kNoSlot) return true;
    if (size() == capacity_) {
      cache.replace(arrivals_.hand(), a.block);
      arrivals_.advance();
    } else {
      arrivals_.insert(cache.insert(a.block));
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    arrivals_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict(arrivals_.pop());
    arrivals_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return arrivals_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return arrivals_.slots(); }
  void prefetch(Slot) const {}
  absl::Status check() const { return arrivals_.check(); }
  std::size_t bytes() const { return arrivals_.bytes(); }

 private:
  SlotRing arrivals_;  // the hand is at the first to leave
  Count capacity_;
};

}  // namespace mcsim
