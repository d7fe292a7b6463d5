#pragma once

#include <tuple>

#include "core/containers/slot_ring.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// First in, first out: the order of insertion, independent of hits. A new block takes the slot of
// the victim, so the hand, at the oldest block, moves around a constant order.
//
// O(1) per access, hits change nothing; 8 bytes per block of the capacity.
class Fifo : public SlotPolicyBase<SlotRing> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "fifo",
      .summary = "Evicts the block that was inserted first.",
      .reference =
          "Belady: A study of replacement algorithms for a virtual-storage computer, "
          "IBM Systems Journal 5(2), 1966"};

  Fifo(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup) {}

  template <class View>
  bool access(const auto& a, View& cache) {
    if (cache.find(a.block) != kNoSlot) return true;
    if constexpr (View::kWeighs) {
      while (cache.is_full(*this)) cache.evict(blocks_.pop());
    } else if (size() == capacity_) {
      cache.replace(blocks_.hand(), a.block);
      blocks_.advance();
      return false;
    }
    blocks_.insert(cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict(blocks_.pop());
    blocks_.reserve(cache.slots_for(capacity_));
  }

  void prefetch(Slot) const {}
  auto state() { return std::tie(blocks_); }
};

}  // namespace mcsim
