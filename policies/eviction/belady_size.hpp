#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Belady's rule with sizes, as in libCacheSim: the victim is the object with the largest size times
// time to its next access, in a random sample drawn with replacement. Objects without a next access
// do not enter, and leave when they are hit. A heuristic: it is neither optimal nor a bound.
//
// O(1) per hit, O(sample) per victim; 12 bytes per slot.
class BeladySize : public SlotPolicyBase<SlotSet> {
 public:
  struct Params {
    int sample = 128;

    static constexpr auto fields() {
      return std::tuple{
          Field{"sample", &Params::sample, "number of objects drawn for each victim", 1, 65536}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr bool kNeedsNextUse = true;
  static constexpr ComponentInfo kInfo{
      .name = "belady-size",
      .summary =
          "Evicts the object with the largest size × time to its next access, among a random "
          "sample (uses the future; only for capacities in bytes).",
      .reference = "libCacheSim (BeladySize)"};

  BeladySize(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup),
        params_(params),
        next_use_(slots()),
        random_(Random(setup.seed).split(kInfo.name)) {}

  bool access(const auto& a, auto& cache) {
    ++now_;
    const Slot slot = cache.find(a.block);
    if (slot != kNoSlot) {
      now_ = next_use_[slot];  // objects that do not fit are not counted otherwise
      next_use_[slot] = a.next_use;
      if (a.next_use == kNever) drop(slot, cache);
      return true;
    }
    if (a.next_use == kNever) return false;
    while (cache.is_full(*this)) drop(victim(cache), cache);
    const Slot entered = cache.insert(a.block);
    blocks_.insert(entered);
    next_use_[entered] = a.next_use;
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) drop(victim(cache), cache);
    blocks_.reserve(cache.slots_for(capacity_));
    if (blocks_.slots() > next_use_.size()) next_use_.extend(blocks_.slots());
  }

  void prefetch(Slot slot) const { prefetch_line(&next_use_[slot]); }
  std::size_t bytes() const { return blocks_.bytes() + next_use_.size() * sizeof(NextUse); }

 private:
  void drop(Slot slot, auto& cache) {
    blocks_.erase(slot);
    cache.evict(slot);
  }

  Slot victim(auto& cache) {
    Slot chosen = kNoSlot;
    std::uint64_t largest = 0;
    for (int i = 0; i < params_.sample; ++i) {
      const Slot slot = blocks_[random_.below(static_cast<std::uint64_t>(size()))];
      const std::uint64_t left = next_use_[slot] - now_;
      const std::uint64_t score = left * static_cast<std::uint64_t>(cache.weight(slot));
      if (chosen != kNoSlot && score <= largest) continue;
      chosen = slot;
      largest = score;
    }
    return chosen;
  }

  Params params_;
  Pages<NextUse> next_use_;
  Random random_;
  std::uint64_t now_ = 0;  // position of the access in the trace, or less
};

}  // namespace mcsim
