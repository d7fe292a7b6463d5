#pragma once

#include <tuple>

#include "core/containers/frequency_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Least frequently used, by the accesses of a block since its insertion; ties go to the least
// recently used.
//
// O(1) per access; 36 bytes per block of the capacity.
class Lfu : public SlotPolicyBase<FrequencyLists> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lfu",
      .summary = "Evicts the block with the fewest accesses since its insertion.",
      .reference =
          "Aho, Denning, Ullman: Principles of optimal page replacement, "
          "Journal of the ACM 18(1), 1971"};

  Lfu(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      blocks_.touch(slot);
      return true;
    }
    while (cache.is_full(*this)) evict(cache);
    blocks_.insert(cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
  }
  auto state() { return std::tie(blocks_); }

 private:
  void evict(auto& cache) {
    const Slot victim = blocks_.least();
    blocks_.erase(victim);
    cache.evict(victim);
  }
};

}  // namespace mcsim
