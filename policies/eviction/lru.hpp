#pragma once

#include <tuple>

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Least recently used. A stack algorithm: a cache contains all blocks of any smaller cache, and its
// hits follow from reuse distances. The most recently used block is first.
//
// O(1) per access; 8 bytes per block of the capacity.
class Lru : public SlotPolicyBase<SlotLists<>> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lru",
      .summary = "Evicts the least recently used block.",
      .reference =
          "Mattson, Gecsei, Slutz, Traiger: Evaluation techniques for storage "
          "hierarchies, IBM Systems Journal 9(2), 1970"};

  Lru(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      blocks_.move_to_front(slot);
      return true;
    }
    while (cache.is_full(*this)) cache.evict_back(blocks_);
    blocks_.push_front(cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict_back(blocks_);
    blocks_.reserve(cache.slots_for(capacity_));
  }
  auto state() { return std::tie(blocks_); }
};

}  // namespace mcsim
