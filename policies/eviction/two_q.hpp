#pragma once

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// 2Q, the full version: newcomers go through a FIFO, A1in. Those that leave it are
// remembered in A1out, and only a block that is accessed while remembered enters the
// main LRU list, Am. Hits in A1in change nothing: they are taken for correlated.
//
// O(1) an access; 9 bytes a block held or remembered.
class TwoQ : public SlotPolicyBase<SlotLists<3>> {
 public:
  struct Params {
    double kin = 0.25;
    double kout = 0.5;

    static constexpr auto fields() {
      return std::tuple{
          Field{"kin", &Params::kin, "share of the capacity that A1in may keep", 0, 1},
          Field{"kout", &Params::kout, "blocks remembered in A1out, by the capacity", 0, 100}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "2q",
      .summary = "A FIFO for newcomers, LRU for blocks accessed again after it.",
      .reference =
          "Johnson, Shasha: 2Q: a low overhead high performance buffer management "
          "replacement algorithm, VLDB 1994"};

  TwoQ(const Params& params, const PolicySetup& setup) : SlotPolicyBase(setup, 0), params_(params) {
    set_capacity(setup.capacity);
    kept_.reserve(setup.slots_for(capacity_ + kout_));
  }

  bool access(const auto& a, auto& cache) {
    const Slot slot = cache.find(a.block);
    if (slot == kNoSlot) {
      reclaim(cache);
      kept_.push_front(kA1in, cache.insert(a.block));
      return false;
    }
    switch (kept_.list_of(slot)) {
      case kAm:
        kept_.move_to_front(kAm, slot);
        return true;
      case kA1in:
        return true;
      default:
        kept_.erase(slot);  // before others push it out of A1out
        reclaim(cache);
        kept_.push_front(kAm, slot);
        return false;
    }
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) evict(cache);
    while (kept_.size(kA1out) > kout_) cache.forget_back(kept_, kA1out);
    kept_.reserve(cache.slots_for(capacity_ + kout_));
  }

  bool resident(Slot slot) const { return kept_.list_of(slot) != kA1out; }
  Count size() const { return kept_.size(kA1in) + kept_.size(kAm); }
  absl::Status check() const {
    if (kept_.size(kA1out) > kout_) return internal_error("2q: too many remembered");
    return kept_.check();
  }

 private:
  enum Queue { kA1in, kAm, kA1out };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    kin_ = share_of(params_.kin, capacity);
    kout_ = share_of(params_.kout, capacity);
  }

  // Makes room for one block.
  void reclaim(auto& cache) {
    if (size() == capacity_) evict(cache);
  }

  void evict(auto& cache) {
    if (kept_.size(kA1in) <= kin_ && !kept_.empty(kAm)) {
      cache.evict_back(kept_, kAm);
      return;
    }
    if (kept_.size(kA1out) == kout_) cache.forget_back(kept_, kA1out);
    const Slot victim = kept_.back(kA1in);
    cache.evict_to_ghost(victim);
    kept_.move_to_front(kA1out, victim);
  }

  Params params_;
  Count kin_ = 0;
  Count kout_ = 0;
};

}  // namespace mcsim
