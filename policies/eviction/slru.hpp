#pragma once

#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Segmented LRU: blocks come into a probationary segment and a hit takes them to a
// protected one. What the protected segment has too much goes back to probation, as
// its most recent. Nothing leaves before the cache is full.
//
// O(1) an access; 9 bytes a block of the capacity.
class Slru {
 public:
  struct Params {
    double protected_share = 0.8;

    static constexpr auto fields() {
      return std::tuple{Field{"protected_share", &Params::protected_share,
                              "share of the capacity that is protected", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "slru",
      .summary = "LRU in two segments; a hit takes a block to the protected one.",
      .reference =
          "Karedla, Love, Wherry: Caching strategies to improve disk system "
          "performance, IEEE Computer 27(3), 1994"};

  Slru(const Params& params, const PolicySetup& setup)
      : segments_(setup.slots_for(setup.capacity)), share_(params.protected_share) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      segments_.move_to_front(kProtected, slot);
      if (segments_.size(kProtected) > protected_) demote();
      return true;
    }
    if (size() == capacity_) evict(cache);
    segments_.push_front(kProbation, cache.insert(a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    segments_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (segments_.size(kProtected) > protected_) demote();
    while (size() > capacity_) evict(cache);
    segments_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return segments_.size(kProbation) + segments_.size(kProtected); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return segments_.slots(); }
  void prefetch(Slot slot) const { segments_.prefetch(slot); }
  absl::Status check() const {
    if (segments_.size(kProtected) > protected_) return internal_error("slru: too many protected");
    return segments_.check();
  }
  std::size_t bytes() const { return segments_.bytes(); }

 private:
  enum Segment { kProbation, kProtected };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    protected_ = share_of(share_, capacity);
  }
  void demote() { segments_.move_to_front(kProbation, segments_.back(kProtected)); }
  void evict(auto& cache) {
    cache.evict_back(segments_, segments_.empty(kProbation) ? kProtected : kProbation);
  }

  SlotLists<2> segments_;
  double share_;
  Count capacity_ = 0;
  Count protected_ = 0;
};

}  // namespace mcsim
