#pragma once

#include <tuple>

#include "core/containers/bit_array.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// SIEVE: blocks stay in insertion order. A hand moves from the oldest to the newest and starts
// again. It clears the mark of blocks visited since it last passed and evicts the first block
// without one. New blocks enter at the front, not behind the hand as in CLOCK, so that the hand
// soon reaches unpopular new blocks.
//
// O(1) per access, amortised; 8.1 bytes per block of the capacity.
class Sieve : public SlotPolicyBase<SlotLists<>> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "sieve",
      .summary =
          "Evicts, in insertion order, blocks that were not visited since a hand last passed.",
      .reference = "Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is simpler than LRU, NSDI 2024"};

  Sieve(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup), visited_(slots()) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      visited_.set(slot);
      return true;
    }
    while (cache.is_full(*this)) cache.evict(pop_victim());
    blocks_.push_front(cache.insert(a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    visited_.clear(slot);
    unlink(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict(pop_victim());
    blocks_.reserve(cache.slots_for(capacity_));
    visited_.reserve(blocks_.slots());
  }

  void prefetch(Slot) const {}  // the marks fit into the processor's caches
  std::size_t bytes() const { return blocks_.bytes() + visited_.bytes(); }
  auto state() { return std::tie(blocks_, visited_, hand_); }

 private:
  Slot pop_victim() {
    while (true) {
      if (hand_ == kNoSlot) hand_ = blocks_.back();
      if (!visited_[hand_]) break;
      visited_.clear(hand_);
      hand_ = blocks_.newer(hand_);
    }
    const Slot victim = hand_;
    unlink(victim);
    return victim;
  }

  // If the hand is at the block, it moves on.
  void unlink(Slot slot) {
    if (slot == hand_) hand_ = blocks_.newer(slot);
    blocks_.erase(slot);
  }

  BitArray visited_;
  Slot hand_ = kNoSlot;  // kNoSlot: past the newest
};

}  // namespace mcsim
