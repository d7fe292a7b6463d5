#pragma once

#include "core/containers/bit_array.hpp"
#include "core/containers/slot_ring.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// CLOCK, or second chance: FIFO whose hand passes over blocks that were referenced
// since it last saw them, and takes their mark away. Blocks come in unmarked.
//
// O(1) an access, amortised; 8.1 bytes a block of the capacity.
class Clock {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "clock",
      .summary = "FIFO with a second chance for blocks referenced since.",
      .reference = "Corbato: A paging experiment with the Multics system, MIT Project MAC, 1968"};

  Clock(const Params&, const PolicySetup& setup)
      : ring_(setup.slots_for(setup.capacity)),
        referenced_(ring_.slots()),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      referenced_.set(slot);
      return true;
    }
    if (size() == capacity_) {
      seek_victim();
      cache.replace(ring_.hand(), a.block);
      ring_.advance();
    } else {
      ring_.insert(cache.insert(a.block));
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    referenced_.clear(slot);
    ring_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) {
      seek_victim();
      cache.evict(ring_.pop());
    }
    ring_.reserve(cache.slots_for(capacity_));
    referenced_.reserve(ring_.slots());
  }

  bool resident(Slot) const { return true; }
  Count size() const { return ring_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return ring_.slots(); }
  void prefetch(Slot) const {}  // the marks stay in the processor's own caches
  absl::Status check() const { return ring_.check(); }
  std::size_t bytes() const { return ring_.bytes() + referenced_.bytes(); }

 private:
  // Moves the hand to the next block without a mark.
  void seek_victim() {
    for (; referenced_[ring_.hand()]; ring_.advance()) referenced_.clear(ring_.hand());
  }

  SlotRing ring_;
  BitArray referenced_;
  Count capacity_;
};

}  // namespace mcsim
