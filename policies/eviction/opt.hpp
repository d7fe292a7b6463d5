#pragma once

#include <tuple>

#include "core/containers/future_queue.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Belady's MIN: evicts the block whose next access is farthest in the future. Optimal among
// policies that insert every block. With `refuse`, the accessed block counts among the candidates,
// and is not inserted if its next access is farthest: optimal among all policies that insert
// accessed blocks only.
//
// O(1) per access, nearly; 12 bytes per block of the capacity and half a bit per access.
class Opt : public SlotPolicyBase<FutureQueue> {
 public:
  struct Params {
    bool refuse = false;

    static constexpr auto fields() {
      return std::tuple{Field{"refuse", &Params::refuse,
                              "whether a block is not inserted if its next access is the farthest: "
                              "the bound of policies that refuse blocks"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "opt",
      .summary =
          "Evicts the block whose next access is farthest in the future (Belady's MIN; uses the "
          "future).",
      .reference =
          "Belady: A study of replacement algorithms for a virtual-storage computer, "
          "IBM Systems Journal 5(2), 1966"};
  static constexpr bool kNeedsNextUse = true;

  Opt(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(FutureQueue(setup.trace.size(), setup.slots_for(setup.capacity)),
                       setup.capacity),
        refuses_(params.refuse) {}

  bool refuses() const { return refuses_; }
  bool admits(const auto& a, auto&) const {
    if (!refuses_ || size() < capacity_) return true;
    return size() > 0 && a.next_use < blocks_.use(blocks_.farthest());
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (hit) {
      blocks_.erase(slot);
    } else {
      if (size() == capacity_) evict(cache);
      slot = cache.insert(a.block);
    }
    blocks_.insert(slot, a.next_use);
    return hit;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
  }

  void prefetch_use(NextUse use) const { blocks_.prefetch_use(use); }

 private:
  static_assert(FutureQueue::kNever == kNever);

  void evict(auto& cache) {
    const Slot victim = blocks_.farthest();
    blocks_.erase(victim);
    cache.evict(victim);
  }

  bool refuses_;
};

}  // namespace mcsim
