#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/access_clock.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// The buffer pool of InnoDB: an LRU list whose older part is about 3/8 of it. New blocks enter
// behind the first block of the older part. A hit moves an old block to the front if its first
// access was `window` milliseconds ago or more. It moves a young block only if as many blocks were
// evicted since its last move as a quarter of the young part has. Before the first eviction, no
// block moves. A list shorter than `least` has no older part: it is LRU with that quarter.
//
// O(1) per access, amortised; 21 bytes per block of the capacity.
class Midpoint : public SlotPolicyBase<SlotLists<2>> {
 public:
  struct Params {
    Count old_percent = 37;
    Count window = 1000;
    Count least = 512;
    Count tolerance = 20;
    Count rate = AccessClock::kDefaultRate;

    static constexpr auto fields() {
      return std::tuple{
          Field{"old_percent", &Params::old_percent, "percentage of blocks in the older part", 5,
                95},
          Field{"window", &Params::window,
                "milliseconds after the first access in which hits move no old block", 0, 4e9},
          Field{"least", &Params::least, "number of blocks from which there is an older part", 1},
          Field{"tolerance", &Params::tolerance,
                "blocks by which the older part may be longer or shorter", 0, 1e6},
          Field{"rate", &Params::rate, AccessClock::kHelp, 0, AccessClock::kMostRate}};
    }
  };
  static constexpr bool kReadsTime = true;
  static constexpr ComponentInfo kInfo{
      .name = "midpoint",
      .summary = "Inserts blocks at 5/8 of an LRU list; hits move them after a second.",
      .reference = "InnoDB, buf0lru.cc and buf0buf.ic"};

  Midpoint(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), params_(params), uses_(slots()), clock_(params.rate) {}

  bool reads_time() const { return clock_.reads_trace(); }

  bool access(const auto& a, auto& cache) {
    const Nanoseconds now = clock_.advance(a);
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (!hit) {
      if (size() == capacity_) evict(cache);
      slot = cache.insert(a.block);
      uses_[slot] = {.first = now, .evictions = 0};
      insert(slot);
    }
    if (should_move(slot, now)) {
      take_out(slot);
      insert_young(slot);
    }
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    take_out(slot);
    cache.forget(slot);
    ++evictions_;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
    uses_.extend(blocks_.slots());
  }

  Count size() const { return blocks_.size(kYoung) + blocks_.size(kOld); }
  std::size_t bytes() const { return blocks_.bytes() + uses_.size() * sizeof(Use); }
  auto state() { return std::tie(blocks_, uses_, clock_, evictions_); }

 private:
  enum Part { kYoung, kOld };
  static constexpr Count kShares = 1024;  // InnoDB's shares are multiples of 1/1024

  struct Use {
    Nanoseconds first;  // time of the first access
    Count evictions;    // at the last move to the front
  };

  Count old_share() const { return params_.old_percent * kShares / 100; }
  bool has_old_part() const { return size() >= params_.least; }

  bool should_move(Slot slot, Nanoseconds now) const {
    if (evictions_ == 0) return false;
    if (blocks_.list_of(slot) == kOld && params_.window > 0) {
      return now - uses_[slot].first >= params_.window * 1'000'000;
    }
    const Count quarter = capacity_ * (kShares - old_share()) / (4 * kShares);
    return evictions_ >= uses_[slot].evictions + quarter;
  }

  void insert(Slot slot) {
    if (!has_old_part()) return insert_young(slot);
    if (blocks_.empty(kOld)) {
      blocks_.push_front(kOld, slot);
    } else {
      blocks_.insert_older(blocks_.front(kOld), slot);
    }
    adjust();
  }
  void insert_young(Slot slot) {
    blocks_.push_front(kYoung, slot);
    uses_[slot].evictions = evictions_;
    if (size() < params_.least) return;
    if (size() == params_.least) make_all(kOld);
    adjust();
  }
  void take_out(Slot slot) {
    // The block before the first old one becomes the first old one.
    if (blocks_.front(kOld) == slot && !blocks_.empty(kYoung)) make_last_young_old();
    blocks_.erase(slot);
    if (has_old_part()) {
      adjust();
    } else {
      make_all(kYoung);
    }
  }
  void evict(auto& cache) {
    const Slot victim = blocks_.back(blocks_.empty(kOld) ? kYoung : kOld);
    take_out(victim);
    cache.evict(victim);
    ++evictions_;
  }

  // Move the boundary until the older part is as long as it should be.
  void adjust() {
    const Count wanted = size() * old_share() / kShares;
    while (blocks_.size(kOld) + params_.tolerance < wanted) make_last_young_old();
    while (blocks_.size(kOld) > wanted + params_.tolerance) make_first_old_young();
  }
  void make_all(Part part) {
    if (part == kYoung) {
      while (!blocks_.empty(kOld)) make_first_old_young();
    } else {
      while (!blocks_.empty(kYoung)) make_last_young_old();
    }
  }
  void make_last_young_old() { blocks_.move_to_front(kOld, blocks_.back(kYoung)); }
  void make_first_old_young() {
    const Slot slot = blocks_.front(kOld);
    blocks_.erase(slot);
    blocks_.push_back(kYoung, slot);
  }

  Params params_;
  Pages<Use> uses_;
  AccessClock clock_;
  Count evictions_ = 0;  // blocks that left so far
};

}  // namespace mcsim
