#pragma once

#include <tuple>

#include "core/containers/bit_array.hpp"
#include "core/containers/slot_ring.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// CLOCK, or second chance: FIFO whose hand passes over blocks referenced since its last visit, and
// clears their marks. New blocks are unmarked.
//
// O(1) per access, amortised; 8.1 bytes per block of the capacity.
class Clock : public SlotPolicyBase<SlotRing> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "clock",
      .summary =
          "Evicts in FIFO order, with a second chance for blocks referenced since the hand passed.",
      .reference = "Corbato: A paging experiment with the Multics system, MIT Project MAC, 1968"};

  Clock(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup), referenced_(slots()) {}

  template <class View>
  bool access(const auto& a, View& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      referenced_.set(slot);
      return true;
    }
    if constexpr (View::kWeighs) {
      while (cache.is_full(*this)) evict(cache);
    } else if (size() == capacity_) {
      seek_victim();
      cache.replace(blocks_.hand(), a.block);
      blocks_.advance();
      return false;
    }
    blocks_.insert(cache.insert(a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    referenced_.clear(slot);
    blocks_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
    referenced_.reserve(blocks_.slots());
  }

  void prefetch(Slot) const {}  // the marks fit into the processor's caches
  std::size_t bytes() const { return blocks_.bytes() + referenced_.bytes(); }
  auto state() { return std::tie(blocks_, referenced_); }

 private:
  // Move the hand to the next block without a mark.
  void seek_victim() {
    for (; referenced_[blocks_.hand()]; blocks_.advance()) referenced_.clear(blocks_.hand());
  }
  void evict(auto& cache) {
    seek_victim();
    cache.evict(blocks_.pop());
  }

  BitArray referenced_;
};

}  // namespace mcsim
