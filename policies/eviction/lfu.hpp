#pragma once

#include "core/containers/frequency_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Least frequently used, by the accesses of a block since it came in; of equals the
// least recently used.
//
// O(1) an access; 36 bytes a block of the capacity.
class Lfu {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "lfu",
      .summary = "Evicts the block accessed least often since it came in.",
      .reference =
          "Aho, Denning, Ullman: Principles of optimal page replacement, "
          "Journal of the ACM 18(1), 1971"};

  Lfu(const Params&, const PolicySetup& setup)
      : frequencies_(setup.slots_for(setup.capacity)), capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      frequencies_.touch(slot);
      return true;
    }
    if (size() == capacity_) evict(cache);
    frequencies_.insert(cache.insert(a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    frequencies_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    frequencies_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const { return frequencies_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return frequencies_.slots(); }
  void prefetch(Slot slot) const { frequencies_.prefetch(slot); }
  absl::Status check() const { return frequencies_.check(); }
  std::size_t bytes() const { return frequencies_.bytes(); }

 private:
  void evict(auto& cache) {
    const Slot victim = frequencies_.least();
    frequencies_.erase(victim);
    cache.evict(victim);
  }

  FrequencyLists frequencies_;
  Count capacity_;
};

}  // namespace mcsim
