#pragma once

#include <tuple>
#include <utility>

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// Two generations of blocks, without an order among those of one generation. New blocks, and hits
// of the old generation, enter the recent one. When that has half of the capacity, rounded up, it
// becomes the old generation, and the blocks of the previous old generation expire.
//
// Expired blocks are evicted at the next miss: a hit that starts a generation evicts nothing.
//
// O(1) per access, amortised; 9 bytes per block of the capacity.
class Generations : public SlotPolicyBase<SlotLists<3>> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "generations",
      .summary = "Keeps blocks used in the current or the previous generation.",
      .reference = "hashlru and quick-lru for Node.js"};

  Generations(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      if (blocks_.list_of(slot) != recent_) {
        blocks_.move_to_front(recent_, slot);
        if (is_complete(blocks_.size(recent_))) {
          while (!blocks_.empty(old_)) blocks_.move_to_front(expired_, blocks_.back(old_));
          std::swap(recent_, old_);
        }
      }
      return true;
    }
    const bool completes = is_complete(blocks_.size(recent_) + 1);
    while (!blocks_.empty(expired_)) cache.evict_back(blocks_, expired_);
    while (completes && !blocks_.empty(old_)) cache.evict_back(blocks_, old_);
    while (size() >= capacity_) evict(cache);
    blocks_.push_front(recent_, cache.insert(a.block));
    if (completes) std::swap(recent_, old_);
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
  }

  Count size() const { return blocks_.size(recent_) + blocks_.size(old_) + blocks_.size(expired_); }
  auto state() { return std::tie(blocks_, recent_, old_); }

 private:
  using List = SlotLists<3>::List;

  bool is_complete(Count generation) const { return generation >= (capacity_ + 1) / 2; }
  void evict(auto& cache) {
    const List oldest = !blocks_.empty(expired_) ? expired_ : !blocks_.empty(old_) ? old_ : recent_;
    cache.evict_back(blocks_, oldest);
  }

  static constexpr List expired_ = 2;
  List recent_ = 0;
  List old_ = 1;
};

}  // namespace mcsim
