#pragma once

#include <tuple>

#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Evicts a block drawn uniformly at random.
//
// O(1) per access; 8 bytes per block of the capacity.
class RandomEviction : public SlotPolicyBase<SlotSet> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "random",
      .summary = "Evicts a block drawn uniformly at random.",
      .reference =
          "Belady: A study of replacement algorithms for a virtual-storage computer, "
          "IBM Systems Journal 5(2), 1966"};

  RandomEviction(const Params&, const PolicySetup& setup)
      : SlotPolicyBase(setup), random_(Random(setup.seed).split(kInfo.name)) {}

  template <class View>
  bool access(const auto& a, View& cache) {
    if (cache.find(a.block) != kNoSlot) return true;
    if constexpr (View::kWeighs) {
      while (cache.is_full(*this)) evict(cache);
    } else if (size() == capacity_) {
      cache.replace(draw(), a.block);
      return false;
    }
    blocks_.insert(cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
  }

  void prefetch(Slot) const {}
  auto state() { return std::tie(blocks_, random_); }

 private:
  void evict(auto& cache) {
    const Slot victim = draw();
    blocks_.erase(victim);
    cache.evict(victim);
  }
  Slot draw() { return blocks_[random_.below(static_cast<std::uint64_t>(size()))]; }

  Random random_;
};

}  // namespace mcsim
