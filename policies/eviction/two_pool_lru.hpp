#pragma once

#include <tuple>

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// LRU in two lists. New blocks enter the first list, whose excess moves to the second one. A hit
// moves a block to the front of its own list, so a block of the second list cannot return to the
// first. Victims are the least recently used blocks of the second list.
//
// O(1) per access; 9 bytes per block of the capacity.
class TwoPoolLru : public SlotPolicyBase<SlotLists<2>> {
 public:
  struct Params {
    double first = 0.9;

    static constexpr auto fields() {
      return std::tuple{
          Field{"first", &Params::first, "share of the capacity of the first list", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "two-pool-lru",
      .summary = "Divides LRU into two lists; blocks that leave the first one do not return to it.",
      .reference = "foyer for Rust, eviction/lru.rs"};

  TwoPoolLru(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), share_(params.first), first_(share_of(share_, setup.capacity)) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      blocks_.move_to_front(blocks_.list_of(slot), slot);
      return true;
    }
    if (size() == capacity_) evict(cache);
    blocks_.push_front(kFirst, cache.insert(a.block));
    limit_first();
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    first_ = share_of(share_, capacity);
    limit_first();
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
  }

  Count size() const { return blocks_.size(kFirst) + blocks_.size(kSecond); }
  absl::Status check() const {
    if (blocks_.size(kFirst) > first_) return internal_error("two-pool-lru: first list too long");
    return blocks_.check();
  }
  auto state() { return std::tie(blocks_); }

 private:
  enum Pool { kFirst, kSecond };

  void limit_first() {
    while (blocks_.size(kFirst) > first_) blocks_.move_to_front(kSecond, blocks_.back(kFirst));
  }
  void evict(auto& cache) { cache.evict_back(blocks_, blocks_.empty(kSecond) ? kFirst : kSecond); }

  double share_;
  Count first_;
};

}  // namespace mcsim
