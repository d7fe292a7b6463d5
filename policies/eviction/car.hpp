#pragma once

#include <algorithm>
#include <tuple>

#include "core/containers/bit_array.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// CAR, the CLOCK variant of ARC: T1 and T2 are clocks of pages seen once and more than once
// recently. B1 and B2 are the ghost lists of their victims, and a hit in a ghost list moves the
// target size p of T1. A hit in the cache only sets a bit.
//
// p is real, like the ratios by which it moves. The directory respects its bounds also while there
// is free space, a case that cannot occur in the paper once there are ghosts.
//
// O(1) per access, amortised; 9.1 bytes per slot, two slots per block of the capacity.
class Car {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "car",
      .summary =
          "Balances two clocks, for recency and frequency, by hits in ghost lists of recent "
          "victims.",
      .reference = "Bansal, Modha: CAR: Clock with adaptive replacement, FAST 2004"};

  Car(const Params&, const PolicySetup& setup)
      : lists_(setup.slots_for(2 * setup.capacity)),
        referenced_(lists_.slots()),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    const Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      referenced_.set(slot);
      return true;
    }
    if (size() == capacity_) replace(cache);
    if (slot == kNoSlot) {
      make_room_in_directory(cache);
      lists_.push_front(kT1, cache.insert(a.block));
    } else {
      adapt(lists_.list_of(slot));
      lists_.move_to_front(kT2, slot);
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    referenced_.clear(slot);
    lists_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    target_ = std::min(target_, static_cast<double>(capacity));
    while (size() > capacity_) replace(cache);
    while (size(kT1) + size(kB1) > capacity_) cache.forget_back(lists_, kB1);
    while (size(kB1) + size(kB2) > 2 * capacity_ - size()) cache.forget_back(lists_, kB2);
    lists_.reserve(cache.slots_for(2 * capacity_));
    referenced_.reserve(lists_.slots());
  }

  bool resident(Slot slot) const { return lists_.list_of(slot) <= kT2; }
  Count size() const { return size(kT1) + size(kT2); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return lists_.slots(); }
  // Hits, the more frequent case, change no links; the marks fit into the processor's caches.
  void prefetch(Slot) const {}
  absl::Status check() const {
    if (size(kT1) + size(kB1) > capacity_ || size() + size(kB1) + size(kB2) > 2 * capacity_) {
      return internal_error("car: {} + {} blocks and {} + {} ghosts are too many for {}", size(kT1),
                            size(kT2), size(kB1), size(kB2), capacity_);
    }
    return lists_.check();
  }
  std::size_t bytes() const { return lists_.bytes() + referenced_.bytes(); }
  auto state() { return std::tie(lists_, referenced_, target_); }

 private:
  // The hand of a clock is at the back of its list.
  static constexpr std::size_t kT1 = 0, kT2 = 1, kB1 = 2, kB2 = 3;

  Count size(std::size_t list) const { return lists_.size(list); }

  // Evict the first page without a mark under the hand of the selected clock. Marked pages move to
  // T2.
  void replace(auto& cache) {
    while (true) {
      const bool from_t1 = static_cast<double>(size(kT1)) >= std::max(1.0, target_);
      const Slot slot = lists_.back(from_t1 ? kT1 : kT2);
      if (!referenced_[slot]) {
        lists_.move_to_front(from_t1 ? kB1 : kB2, slot);
        cache.evict_to_ghost(slot);
        return;
      }
      referenced_.clear(slot);
      lists_.move_to_front(kT2, slot);
    }
  }

  void make_room_in_directory(auto& cache) {
    if (size(kT1) + size(kB1) == capacity_) {
      cache.forget_back(lists_, kB1);
    } else if (size() + size(kB1) + size(kB2) == 2 * capacity_) {
      cache.forget_back(lists_, kB2);
    }
  }

  // A ghost hit would have been a hit with a larger clock.
  void adapt(std::size_t ghosts) {
    const auto b1 = static_cast<double>(size(kB1));
    const auto b2 = static_cast<double>(size(kB2));
    target_ = ghosts == kB1
                  ? std::min(static_cast<double>(capacity_), target_ + std::max(1.0, b2 / b1))
                  : std::max(0.0, target_ - std::max(1.0, b1 / b2));
  }

  SlotLists<4> lists_;
  BitArray referenced_;
  double target_ = 0;  // p: target size of T1
  Count capacity_;
};

}  // namespace mcsim
