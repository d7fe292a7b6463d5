#pragma once

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/containers/integer_set.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Belady's MIN: evicts the block whose next access is farthest away, which no policy
// that must take in every block can beat. The next uses of what it holds are a set
// of positions in the trace; the victim is the block accessed at the largest. Blocks
// never used again have numbers of their own beyond the last position.
//
// O(1) an access, nearly; 8 bytes a block of the capacity, a bit an access.
class Opt {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "opt",
      .summary = "Evicts the block whose next access is farthest away.",
      .reference =
          "Belady: A study of replacement algorithms for a virtual-storage computer, "
          "IBM Systems Journal 5(2), 1966"};
  static constexpr bool kNeedsNextUse = true;

  Opt(const Params&, const PolicySetup& setup)
      : trace_(setup.trace),
        next_of_(setup.slots_for(setup.capacity)),
        next_uses_(trace_.size() + setup.blocks),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (hit) {
      next_uses_.erase(next_of_[slot]);
    } else {
      if (size_ == capacity_) evict(cache);
      slot = cache.insert(a.block);
      ++size_;
    }
    next_of_[slot] = a.next_use != kNever ? a.next_use : never(slot);
    next_uses_.insert(next_of_[slot]);
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    next_uses_.erase(next_of_[slot]);
    --size_;
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size_ > capacity_) evict(cache);
    if (cache.slots_for(capacity_) > slots()) next_of_.extend(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return size_; }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return next_of_.size(); }
  void prefetch(Slot slot) const { prefetch_line(&next_of_[slot]); }
  absl::Status check() const {
    Count marked = 0;
    for (std::size_t use = 0; use < trace_.size() + slots(); ++use) {
      marked += next_uses_.contains(use) ? 1 : 0;
    }
    if (marked == size_) return absl::OkStatus();
    return internal_error("opt: {} next uses of {} blocks", marked, size_);
  }
  std::size_t bytes() const { return next_of_.size() * sizeof(std::size_t) + next_uses_.bytes(); }

 private:
  std::size_t never(Slot slot) const { return trace_.size() + slot; }

  void evict(auto& cache) {
    const std::size_t use = next_uses_.largest();
    const Slot victim =
        use < trace_.size() ? cache.find(trace_[use]) : static_cast<Slot>(use - trace_.size());
    next_uses_.erase(use);
    --size_;
    cache.evict(victim);
  }

  std::span<const BlockId> trace_;
  Pages<std::size_t> next_of_;
  IntegerSet next_uses_;
  Count capacity_;
  Count size_ = 0;
};

}  // namespace mcsim
