#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// A cold and a hot CLOCK with ghosts of the cold one. New blocks are hot while hot ones have space,
// and cold later. The cold hand promotes a block that was accessed again, with one access less, and
// evicts others, which become ghosts. The hot hand takes one access off each block that it passes
// and evicts a block without accesses, which becomes no ghost; it moves when a promotion exceeds
// the hot share, or if no block is cold. An accessed ghost returns as a hot block.
//
// O(1) per access, amortised; 10 bytes per block held or remembered.
class ClockPair : public SlotPolicyBase<SlotLists<3>> {
 public:
  struct Params {
    double hot = 0.97;
    double ghosts = 0.5;
    Count most = 2;

    static constexpr auto fields() {
      return std::tuple{
          Field{"hot", &Params::hot, "share of the capacity for hot blocks", 0, 1},
          Field{"ghosts", &Params::ghosts,
                "number of blocks remembered, as a multiple of the capacity", 0, 100},
          Field{"most", &Params::most, "maximum number of accesses counted for a block", 1, 255}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "clock-pair",
      .summary = "Filters new blocks in a cold CLOCK with ghosts before a hot CLOCK.",
      .reference = "quick_cache for Rust, a modified CLOCK-Pro"};

  ClockPair(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup, 0), params_(params) {
    set_capacity(setup.capacity);
    reserve(setup.slots_for(capacity_ + ghosts_));
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    Clock clock = kHot;
    if (slot == kNoSlot) {
      if (blocks_.size(kHot) >= hot_) clock = kCold;
      make_room(0, cache);
      slot = cache.insert(a.block);
    } else if (blocks_.list_of(slot) == kGhosts) {
      blocks_.erase(slot);  // before another ghost replaces it
      make_room(1, cache);
      cache.revive(slot);
    } else {
      if (accesses_[slot] < params_.most) ++accesses_[slot];
      return true;
    }
    accesses_[slot] = 0;
    blocks_.push_front(clock, slot);
    return false;
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) advance_cold(0, cache);
    while (blocks_.size(kGhosts) > ghosts_) cache.forget_back(blocks_, kGhosts);
    reserve(cache.slots_for(capacity_ + ghosts_));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) != kGhosts; }
  Count size() const { return blocks_.size(kCold) + blocks_.size(kHot); }
  void prefetch(Slot) const {}  // hits change counts only, which fit into the processor's caches
  absl::Status check() const {
    if (blocks_.size(kGhosts) > ghosts_) return internal_error("clock-pair: too many remembered");
    return blocks_.check();
  }
  std::size_t bytes() const { return blocks_.bytes() + accesses_.size(); }
  auto state() { return std::tie(blocks_, accesses_); }

 private:
  enum Clock { kCold, kHot, kGhosts };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    hot_ = share_of(params_.hot, capacity);
    ghosts_ = floor_share(params_.ghosts, capacity);
  }
  void reserve(std::size_t slots) {
    blocks_.reserve(slots);
    accesses_.extend(blocks_.slots());
  }

  // Free space for a block; `entering`: how many blocks are about to become hot.
  void make_room(Count entering, auto& cache) {
    while (size() >= capacity_) advance_cold(entering, cache);
  }

  // Promote or evict the next cold block.
  void advance_cold(Count entering, auto& cache) {
    if (blocks_.empty(kCold)) return evict_hot(cache);
    const Slot oldest = blocks_.back(kCold);
    if (accesses_[oldest] > 0) {
      --accesses_[oldest];
      blocks_.move_to_front(kHot, oldest);
      while (blocks_.size(kHot) + entering > hot_) evict_hot(cache);
    } else if (ghosts_ == 0) {
      cache.evict_back(blocks_, kCold);
    } else {
      if (blocks_.size(kGhosts) == ghosts_) cache.forget_back(blocks_, kGhosts);
      cache.evict_to_ghost(oldest);
      blocks_.move_to_front(kGhosts, oldest);
    }
  }

  void evict_hot(auto& cache) {
    for (Slot oldest = blocks_.back(kHot); accesses_[oldest] > 0; oldest = blocks_.back(kHot)) {
      --accesses_[oldest];
      blocks_.move_to_front(kHot, oldest);
    }
    cache.evict_back(blocks_, kHot);
  }

  Params params_;
  Pages<std::uint8_t> accesses_;
  Count hot_ = 0;
  Count ghosts_ = 0;
};

}  // namespace mcsim
