#pragma once

#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Evicts any block, each as likely as the others.
//
// O(1) an access; 8 bytes a block of the capacity.
class RandomEviction {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "random",
      .summary = "Evicts a block drawn at random.",
      .reference =
          "Belady: A study of replacement algorithms for a virtual-storage computer, "
          "IBM Systems Journal 5(2), 1966"};

  RandomEviction(const Params&, const PolicySetup& setup)
      : held_(setup.slots_for(setup.capacity)),
        random_(Random(setup.seed).split(kInfo.name)),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (cache.find(a.block) != kNoSlot) return true;
    if (size() == capacity_) {
      cache.replace(draw(), a.block);
    } else {
      held_.insert(cache.insert(a.block));
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    held_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) {
      const Slot victim = draw();
      held_.erase(victim);
      cache.evict(victim);
    }
    held_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return held_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return held_.slots(); }
  void prefetch(Slot) const {}
  absl::Status check() const { return held_.check(); }
  std::size_t bytes() const { return held_.bytes(); }

 private:
  Slot draw() { return held_[random_.below(static_cast<std::uint64_t>(size()))]; }

  SlotSet held_;
  Random random_;
  Count capacity_;
};

}  // namespace mcsim
