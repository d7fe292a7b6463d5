#pragma once

#include <algorithm>
#include <tuple>

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// LARC, lazy adaptive replacement cache: LRU behind a list of ghosts. A block enters only if it is
// accessed while its ghost is remembered; at its first miss it is refused and becomes a ghost. The
// number of ghosts grows with misses and shrinks with hits, between 0.1 and 0.9 of the capacity.
// A block is refused even while there is free space.
//
// O(1) per access; 9 bytes per block held or remembered.
class Larc : public SlotPolicyBase<SlotLists<2>> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "larc",
      .summary = "Refuses blocks until their second recent miss, before LRU.",
      .reference =
          "Huang, Wei, Chen, Chen, Wu: Improving flash-based disk cache with lazy adaptive "
          "replacement, MSST 2013"};

  Larc(const Params&, const PolicySetup& setup)
      : SlotPolicyBase(setup, 0), ghosts_(kLeast * static_cast<double>(setup.capacity)) {
    capacity_ = setup.capacity;
    blocks_.reserve(setup.slots_for(most_blocks()));
  }

  bool admits(const auto& a, auto& cache) {
    if (capacity_ == 0) return false;
    ghosts_ = std::min(kMost * blocks(), ghosts_ + blocks() / ghosts_);
    if (cache.find(a.block) != kNoSlot) return true;
    if (static_cast<double>(blocks_.size(kGhosts) + 1) > ghosts_) {
      if (blocks_.empty(kGhosts)) return false;  // less than one ghost
      cache.forget_back(blocks_, kGhosts);
    }
    blocks_.push_front(kGhosts, cache.insert(a.block));
    return false;
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      ghosts_ = std::max(kLeast * blocks(), ghosts_ - blocks() / (blocks() - ghosts_));
      blocks_.move_to_front(kHeld, slot);
      return true;
    }
    if (size() == capacity_) cache.evict_back(blocks_, kHeld);
    if (slot == kNoSlot) {
      slot = cache.insert(a.block);
    } else {
      blocks_.erase(slot);
      cache.revive(slot);
    }
    blocks_.push_front(kHeld, slot);
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    ghosts_ = std::clamp(ghosts_, kLeast * blocks(), kMost * blocks());
    while (size() > capacity_) cache.evict_back(blocks_, kHeld);
    while (static_cast<double>(blocks_.size(kGhosts)) > kMost * blocks()) {
      cache.forget_back(blocks_, kGhosts);
    }
    blocks_.reserve(cache.slots_for(most_blocks()));
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) == kHeld; }
  Count size() const { return blocks_.size(kHeld); }
  absl::Status check() const {
    if (static_cast<double>(blocks_.size(kGhosts)) > kMost * blocks()) {
      return internal_error("larc: {} ghosts of {} blocks", blocks_.size(kGhosts), capacity_);
    }
    return blocks_.check();
  }
  auto state() { return std::tie(blocks_, ghosts_); }

 private:
  enum List { kHeld, kGhosts };
  static constexpr double kLeast = 0.1, kMost = 0.9;

  double blocks() const { return static_cast<double>(capacity_); }
  Count most_blocks() const { return 2 * capacity_; }

  double ghosts_;  // the target of their number
};

}  // namespace mcsim
