#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// QD-LP-FIFO: a small FIFO before a CLOCK with counts of two bits, and ghosts. Blocks that were hit
// in the small FIFO move to the CLOCK, the others are evicted and become ghosts. A ghost that is
// accessed enters the CLOCK. The small FIFO has all space that the CLOCK does not use.
//
// For objects of different sizes, all shares are in bytes. An object larger than the CLOCK stays in
// the small FIFO, and one larger than the space of ghosts does not become one.
//
// O(1) per access, amortised; 10 bytes per block held or remembered.
class QdLpFifo : public SlotPolicyBase<WeighedLists<3>> {
 public:
  struct Params {
    double small = 0.1;
    double ghosts = 0.9;
    Count promote_at = 1;

    static constexpr auto fields() {
      return std::tuple{
          Field{"small", &Params::small, "share of the capacity of the small FIFO", 0, 1},
          Field{"ghosts", &Params::ghosts, "share of the capacity of the ghosts", 0, 16},
          Field{"promote_at", &Params::promote_at,
                "number of hits in the small FIFO that move a block to the CLOCK", 1, 3}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "qd-lp-fifo",
      .summary =
          "Filters new blocks in a small FIFO before a CLOCK with two bits; the origin of "
          "S3-FIFO.",
      .reference =
          "Yang, Qiu, Zhang, Yue, Rashmi: FIFO can be better than LRU: the power of lazy promotion "
          "and quick demotion, HotOS 2023; libCacheSim, QDLP.c"};

  QdLpFifo(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup, 0), hits_(0), params_(params) {
    set_capacity(setup.capacity);
    reserve(setup.slots_for(capacity_ + ghosts_));
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      hits_[slot] = std::min<std::uint8_t>(kMostHits, hits_[slot] + 1);
      return true;
    }
    const bool was_ghost = slot != kNoSlot;
    if (was_ghost) blocks_.erase(slot, cache);  // before another ghost replaces it
    while (cache.is_full(*this)) evict(cache);
    if (was_ghost) {
      cache.revive(slot);
    } else {
      slot = cache.insert(a.block);
    }
    if (was_ghost && cache.weight(slot) <= main_) {
      promote(slot, cache);
    } else {
      blocks_.push_front(kSmall, slot, cache);
      hits_[slot] = 0;
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    blocks_.erase(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { blocks_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (blocks_.weight(kMain, cache) > main_) evict_main(cache);
    while (size() > capacity_) evict(cache);
    while (blocks_.weight(kGhost, cache) > ghosts_) cache.forget_back(blocks_, kGhost);
    reserve(cache.slots_for(capacity_ + ghosts_));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) != kGhost; }
  Count size() const { return blocks_.size(kSmall) + blocks_.size(kMain); }
  void prefetch(Slot) const {}  // the counts fit into the processor's caches
  absl::Status check() const {
    if (blocks_.size(kGhost) > ghosts_) return internal_error("qd-lp-fifo: too many remembered");
    if (blocks_.size(kMain) > main_) return internal_error("qd-lp-fifo: too many in the CLOCK");
    return blocks_.check();
  }
  std::size_t bytes() const { return blocks_.bytes() + hits_.size(); }
  auto state() { return std::tie(blocks_, hits_); }

 private:
  enum Queue { kSmall, kMain, kGhost };
  static constexpr std::uint8_t kMostHits = 3;

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    main_ = capacity - std::min(capacity, share_of(params_.small, capacity));
    ghosts_ = floor_share(params_.ghosts, capacity);
  }
  void reserve(std::size_t slots) {
    blocks_.reserve(slots);
    hits_.extend(blocks_.slots());
  }

  void evict(auto& cache) {
    if (blocks_.empty(kSmall)) return evict_main(cache);
    const Slot oldest = blocks_.back(kSmall);
    const Count weight = cache.weight(oldest);
    blocks_.erase(oldest, cache);
    if (hits_[oldest] >= params_.promote_at && weight <= main_) return promote(oldest, cache);
    if (weight > ghosts_) return cache.evict(oldest);
    while (blocks_.weight(kGhost, cache) + weight > ghosts_) cache.forget_back(blocks_, kGhost);
    cache.evict_to_ghost(oldest);
    blocks_.push_front(kGhost, oldest, cache);
  }

  // Insert a block that is in no queue into the CLOCK.
  void promote(Slot slot, auto& cache) {
    while (blocks_.weight(kMain, cache) + cache.weight(slot) > main_) evict_main(cache);
    blocks_.push_front(kMain, slot, cache);
    hits_[slot] = 0;
  }

  void evict_main(auto& cache) {
    while (hits_[blocks_.back(kMain)] > 0) {
      const Slot oldest = blocks_.back(kMain);
      --hits_[oldest];
      blocks_.move_to_front(kMain, oldest, cache);
    }
    cache.evict_back(blocks_, kMain);
  }

  Pages<std::uint8_t> hits_;
  Params params_;
  Count main_ = 0;
  Count ghosts_ = 0;
};

}  // namespace mcsim
