#pragma once

#include <tuple>

#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Segmented LRU: blocks enter a probationary segment, and a hit moves them to a protected one. The
// excess of the protected segment returns to probation, as the most recent block. Nothing is
// evicted before the cache is full.
//
// O(1) per access; 9 bytes per block of the capacity.
class Slru : public SlotPolicyBase<WeighedLists<2>> {
 public:
  struct Params {
    double protected_share = 0.8;

    static constexpr auto fields() {
      return std::tuple{Field{"protected_share", &Params::protected_share,
                              "share of the capacity of the protected segment", 0, 1}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "slru",
      .summary = "Divides LRU into two segments; a hit moves a block to the protected one.",
      .reference =
          "Karedla, Love, Wherry: Caching strategies to improve disk system "
          "performance, IEEE Computer 27(3), 1994"};

  Slru(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), share_(params.protected_share) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      blocks_.move_to_front(kProtected, slot, cache);
      while (blocks_.weight(kProtected, cache) > protected_) demote(cache);
      return true;
    }
    while (cache.is_full(*this)) evict(cache);
    blocks_.push_front(kProbation, cache.insert(a.block), cache);
    return false;
  }

  void remove(Slot slot, auto& cache) {
    blocks_.erase(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) { blocks_.reweigh(slot, more); }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (blocks_.weight(kProtected, cache) > protected_) demote(cache);
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
  }

  Count size() const { return blocks_.size(kProbation) + blocks_.size(kProtected); }
  absl::Status check() const {
    if (blocks_.size(kProtected) > protected_) return internal_error("slru: too many protected");
    return blocks_.check();
  }
  auto state() { return std::tie(blocks_); }

 private:
  enum Segment { kProbation, kProtected };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    protected_ = share_of(share_, capacity);
  }
  void demote(const auto& cache) {
    blocks_.move_to_front(kProbation, blocks_.back(kProtected), cache);
  }
  void evict(auto& cache) {
    cache.evict_back(blocks_, blocks_.empty(kProbation) ? kProtected : kProbation);
  }

  double share_;
  Count protected_ = 0;
};

}  // namespace mcsim
