#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/access_clock.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// LRU2Q of CacheLib: a hot, a warm and a cold list, each in the order of LRU. New blocks are hot.
// Blocks that the hot or the warm list has above its share of the cached blocks become cold, and a
// hit makes a cold block warm. A block moves only if it did not enter or move in the last `refresh`
// seconds. Writes move blocks as reads do; CacheLib moves none by default.
//
// O(1) per access, amortised; 13 bytes per block of the capacity.
class Lru2Q : public SlotPolicyBase<SlotLists<3>> {
 public:
  struct Params {
    double hot = 0.3;
    double warm = 0.4;
    Count refresh = 60;
    Count rate = AccessClock::kDefaultRate;

    static constexpr auto fields() {
      return std::tuple{
          Field{"hot", &Params::hot, "share of the cached blocks that are hot", 0, 1},
          Field{"warm", &Params::warm, "share of the cached blocks that are warm", 0, 1},
          Field{"refresh", &Params::refresh, "seconds in which a block moves at most once", 0, 1e9},
          Field{"rate", &Params::rate, AccessClock::kHelp, 0, AccessClock::kMostRate}};
    }
  };
  static constexpr bool kReadsTime = true;
  static constexpr ComponentInfo kInfo{
      .name = "lru2q",
      .summary = "Divides LRU into hot, warm and cold lists; a block moves at most once a minute.",
      .reference = "CacheLib, MM2Q.h"};

  Lru2Q(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), params_(params), moved_(slots()), clock_(params.rate) {}

  bool reads_time() const { return clock_.reads_trace(); }

  bool access(const auto& a, auto& cache) {
    const std::uint32_t now = seconds(clock_.advance(a));
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      if (std::uint64_t{moved_[slot]} + static_cast<std::uint64_t>(params_.refresh) > now) {
        return true;
      }
      moved_[slot] = now;
      if (blocks_.list_of(slot) == kCold) {
        blocks_.move_to_front(kWarm, slot);
        rebalance();
      } else {
        blocks_.move_to_front(blocks_.list_of(slot), slot);
      }
      return true;
    }
    if (size() == capacity_) evict(cache);
    const Slot slot = cache.insert(a.block);
    blocks_.push_front(kHot, slot);
    moved_[slot] = now;
    rebalance();
    return false;
  }

  void remove(Slot slot, auto& cache) {
    SlotPolicyBase::remove(slot, cache);
    rebalance();
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
    moved_.extend(blocks_.slots());
  }

  Count size() const { return blocks_.size(kHot) + blocks_.size(kWarm) + blocks_.size(kCold); }
  std::size_t bytes() const { return blocks_.bytes() + moved_.size() * sizeof(std::uint32_t); }
  auto state() { return std::tie(blocks_, moved_, clock_); }

 private:
  enum List { kHot, kWarm, kCold };

  static std::uint32_t seconds(Nanoseconds time) {
    return static_cast<std::uint32_t>(time / 1'000'000'000);
  }
  void rebalance() {
    shrink(kWarm, params_.warm);
    shrink(kHot, params_.hot);
  }
  void shrink(List list, double share) {
    const Count most = floor_share(share, size());
    while (blocks_.size(list) > most) blocks_.move_to_front(kCold, blocks_.back(list));
  }
  void evict(auto& cache) {
    const List from = !blocks_.empty(kCold) ? kCold : !blocks_.empty(kHot) ? kHot : kWarm;
    cache.evict_back(blocks_, from);
  }

  Params params_;
  Pages<std::uint32_t> moved_;  // the second in which the block entered or moved
  AccessClock clock_;
};

}  // namespace mcsim
