#pragma once

#include "core/containers/future_queue.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Belady's MIN: evicts the block whose next access is farthest away, which no policy
// that must take in every block can beat.
//
// O(1) an access, nearly; 12 bytes a block of the capacity, half a bit an access.
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
      : future_(setup.trace.size(), setup.slots_for(setup.capacity)), capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot;
    if (hit) {
      future_.erase(slot);
    } else {
      if (size() == capacity_) evict(cache);
      slot = cache.insert(a.block);
    }
    future_.insert(slot, a.next_use);
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    future_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    future_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return future_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return future_.slots(); }
  void prefetch(Slot slot) const { future_.prefetch(slot); }
  void prefetch_use(NextUse use) const { future_.prefetch_use(use); }
  absl::Status check() const { return future_.check(); }
  std::size_t bytes() const { return future_.bytes(); }

 private:
  static_assert(FutureQueue::kNever == kNever);

  void evict(auto& cache) {
    const Slot victim = future_.farthest();
    future_.erase(victim);
    cache.evict(victim);
  }

  FutureQueue future_;
  Count capacity_;
};

}  // namespace mcsim
