#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/pages.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"
#include "policies/eviction/kept_ghosts.hpp"

namespace mcsim {

enum class ClockPairVariant : std::uint8_t {
  kQuickCache,
  // All blocks are hot until the first eviction. A promotion clears the count. The hot hand passes
  // at most a quarter of the hot blocks, and evicts the first one without accesses, or the one with
  // the lowest count. Ghosts are not dropped when they are accessed; there are at most 3,000.
  kCache2k,
};

template <>
struct Choices<ClockPairVariant> {
  static constexpr std::array names{std::pair{"quick-cache", ClockPairVariant::kQuickCache},
                                    std::pair{"cache2k", ClockPairVariant::kCache2k}};
};

// A cold and a hot CLOCK with ghosts of the cold one. New blocks are hot while hot ones have space,
// and cold later. The cold hand promotes a block that was accessed again, with one access less, and
// evicts others, which become ghosts. The hot hand takes one access off each block that it passes
// and evicts a block without accesses, which becomes no ghost; it moves when a promotion exceeds
// the hot share, or if no block is cold. An accessed ghost returns as a hot block.
//
// O(1) per access, amortised, but O(capacity) per eviction of a hot block with variant=cache2k; 13
// bytes per block held or remembered, 29 with that variant.
class ClockPair : public SlotPolicyBase<SlotLists<3>> {
 public:
  struct Params {
    double hot = 0.97;
    double ghosts = 0.5;
    Count most = 2;
    ClockPairVariant variant = ClockPairVariant::kQuickCache;

    static constexpr auto fields() {
      return std::tuple{
          Field{"hot", &Params::hot, "share of the capacity for hot blocks", 0, 1},
          Field{"ghosts", &Params::ghosts,
                "number of blocks remembered, as a multiple of the capacity", 0, 100},
          Field{"most", &Params::most,
                "maximum number of accesses counted for a block; 0: no maximum", 0, 255},
          Field{"variant", &Params::variant, "algorithm: as in quick_cache, or as in cache2k"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "clock-pair",
      .summary = "Filters new blocks in a cold CLOCK with ghosts before a hot CLOCK.",
      .reference = "quick_cache for Rust and cache2k for Java, both a modified CLOCK-Pro"};

  ClockPair(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup, 0), params_(params), kept_(0) {
    set_capacity(setup.capacity);
    reserve(setup.slots_for(capacity_ + ghosts_));
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      if (accesses_[slot] < most_) ++accesses_[slot];
      return true;
    }
    if (is_cache2k()) {
      insert_after_eviction(a.block, cache);
      return false;
    }
    Clock clock = kHot;
    if (slot == kNoSlot) {
      if (blocks_.size(kHot) >= hot_) clock = kCold;
      make_room(0, cache);
      slot = cache.insert(a.block);
    } else {
      blocks_.erase(slot);  // before another ghost replaces it
      make_room(1, cache);
      cache.revive(slot);
    }
    accesses_[slot] = 0;
    blocks_.push_front(clock, slot);
    return false;
  }

  void remove(Slot slot, auto& cache) {
    if (kept_.contains(slot)) kept_.erase(slot);
    blocks_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) {
      if (is_cache2k()) {
        evict_next(cache);
      } else {
        advance_cold(0, cache);
      }
    }
    if (is_cache2k()) {
      while (kept_.weight() > ghosts_) drop_oldest_ghost(cache);
    } else {
      while (blocks_.size(kGhosts) > ghosts_) cache.forget_back(blocks_, kGhosts);
    }
    reserve(cache.slots_for(capacity_ + ghosts_));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) != kGhosts; }
  Count size() const { return blocks_.size(kCold) + blocks_.size(kHot); }
  void prefetch(Slot) const {}  // hits change counts only, which fit into the processor's caches
  absl::Status check() const {
    if (blocks_.size(kGhosts) > ghosts_) return internal_error("clock-pair: too many remembered");
    MCSIM_RETURN_IF_ERROR(kept_.check());
    return blocks_.check();
  }
  std::size_t bytes() const {
    return blocks_.bytes() + accesses_.size() * sizeof(std::uint32_t) + kept_.bytes();
  }
  auto state() { return std::tie(blocks_, accesses_, kept_, has_evicted_); }

 private:
  enum Clock { kCold, kHot, kGhosts };
  static constexpr Count kMostGhosts = 3000;

  bool is_cache2k() const { return params_.variant == ClockPairVariant::kCache2k; }

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    most_ = params_.most > 0 ? static_cast<std::uint32_t>(params_.most)
                             : std::numeric_limits<std::uint32_t>::max();
    ghosts_ = floor_share(params_.ghosts, capacity);
    if (is_cache2k()) {
      hot_ = floor_share(params_.hot, capacity);
      ghosts_ = std::min(kMostGhosts, ghosts_ + 1);
    } else {
      hot_ = share_of(params_.hot, capacity);
    }
  }
  void reserve(std::size_t slots) {
    blocks_.reserve(slots);
    accesses_.extend(blocks_.slots());
    if (is_cache2k()) kept_.reserve(blocks_.slots());
  }

  // --- As in quick_cache ----------------------------------------------------------

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

  // --- As in cache2k --------------------------------------------------------------

  void insert_after_eviction(auto block, auto& cache) {
    while (size() >= capacity_) evict_next(cache);
    Slot slot = cache.find(block);  // the eviction may have dropped the ghost
    const bool is_ghost = slot != kNoSlot;
    if (is_ghost) {
      blocks_.erase(slot);
      cache.revive(slot);
    } else {
      slot = cache.insert(block);
    }
    const bool has_hot_space = !has_evicted_ || blocks_.size(kHot) < hot_;
    accesses_[slot] = 0;
    blocks_.push_front(is_ghost || (blocks_.empty(kCold) && has_hot_space) ? kHot : kCold, slot);
  }

  void evict_next(auto& cache) {
    has_evicted_ = true;
    const Slot victim = next_victim();
    if (blocks_.list_of(victim) == kCold) remember(victim, cache);
    if (kept_.contains(victim)) {
      cache.evict_to_ghost(victim);
      blocks_.move_to_front(kGhosts, victim);
    } else {
      blocks_.erase(victim);
      cache.evict(victim);
    }
  }
  void remember(Slot slot, auto& cache) {
    if (kept_.contains(slot)) return kept_.move_to_front(slot);
    while (kept_.weight() >= ghosts_) drop_oldest_ghost(cache);
    kept_.push_front(slot, 1);
  }
  void drop_oldest_ghost(auto& cache) {
    const Slot oldest = kept_.back();
    kept_.erase(oldest);
    if (resident(oldest)) return;
    blocks_.erase(oldest);
    cache.forget(oldest);
  }

  // Promote cold blocks that were accessed again, until there is a victim.
  Slot next_victim() {
    if (blocks_.size(kHot) > hot_ || blocks_.empty(kCold)) return advance_hot();
    while (!blocks_.empty(kCold)) {
      const Slot oldest = blocks_.back(kCold);
      if (accesses_[oldest] == 0) return oldest;
      const bool is_hot_full = blocks_.size(kHot) >= hot_ && !blocks_.empty(kHot);
      const Slot victim = is_hot_full ? advance_hot() : kNoSlot;
      accesses_[oldest] = 0;
      blocks_.move_to_front(kHot, oldest);
      if (victim != kNoSlot) return victim;
    }
    return advance_hot();
  }

  // Pass hot blocks, which lose accesses, up to one without accesses; return that with the fewest.
  Slot advance_hot() {
    const Slot first = blocks_.back(kHot);
    const Slot second = blocks_.size(kHot) > 1 ? blocks_.newer(first) : first;
    const std::uint64_t sum = std::uint64_t{accesses_[first]} + accesses_[second];
    const auto loss = static_cast<std::uint32_t>(sum >> 6) + 1;
    Slot victim = first;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (Count left = blocks_.size(kHot) / 4 + 1; left > 0 && least > 0; --left) {
      const Slot oldest = blocks_.back(kHot);
      std::uint32_t& count = accesses_[oldest];
      if (count < least) {
        least = count;
        victim = oldest;
      }
      count -= std::min(count, loss);
      blocks_.move_to_front(kHot, oldest);
    }
    return victim;
  }

  Params params_;
  Pages<std::uint32_t> accesses_;
  KeptGhosts kept_;  // ghosts of the variant cache2k; those whose blocks left are in `kGhosts` too
  std::uint32_t most_ = 0;
  Count hot_ = 0;
  Count ghosts_ = 0;
  bool has_evicted_ = false;
};

}  // namespace mcsim
