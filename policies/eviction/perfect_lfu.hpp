#pragma once

#include <tuple>

#include "core/base/prefetch.hpp"
#include "core/containers/slot_heap.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// LFU with counts of all accesses to a block, cached or not. Among equal counts the least recently
// used block is evicted. An upper reference for frequency-based policies, not a practical cache.
//
// O(log n) per access; 40 bytes per block of the trace.
class PerfectLfu {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "perfect-lfu",
      .summary = "Evicts the block with the fewest accesses in the whole trace so far.",
      .reference =
          "Breslau, Cao, Fan, Phillips, Shenker: Web caching and Zipf-like "
          "distributions, INFOCOM 1999"};

  static constexpr bool kRemembersAll = true;

  PerfectLfu(const Params&, const PolicySetup& setup)
      : held_(setup.blocks), uses_(setup.blocks), capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    if (slot == kNoSlot) uses_[slot = cache.insert(a.block)] = {};
    Use& use = uses_[slot];
    const bool hit = use.held;
    if (!hit && size() == capacity_) evict(cache);
    use = {.count = use.count + 1, .held = true};
    const Key key{.count = use.count, .last = ++now_};
    if (hit) {
      held_.update(slot, key);
    } else {
      held_.push(slot, key);
    }
    return hit;
  }

  void remove(Slot slot, auto&) {
    uses_[slot].held = false;
    held_.erase(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
  }

  bool resident(Slot slot) const { return uses_[slot].held; }
  Count size() const { return held_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return held_.slots(); }
  void prefetch(Slot slot) const { prefetch_line(&uses_[slot]); }
  absl::Status check() const { return held_.check(); }
  std::size_t bytes() const { return held_.bytes() + uses_.size() * sizeof(Use); }
  auto state() { return std::tie(held_, uses_, now_); }

 private:
  struct Use {
    std::uint64_t count : 63 = 0;
    bool held : 1 = false;
  };
  struct Key {
    std::uint64_t count;
    std::uint64_t last;
    auto operator<=>(const Key&) const = default;
  };

  void evict(auto& cache) {
    const Slot victim = held_.pop();
    uses_[victim].held = false;
    cache.evict_to_ghost(victim);
  }

  SlotHeap<Key> held_;
  Pages<Use> uses_;
  std::uint64_t now_ = 0;
  Count capacity_;
};

}  // namespace mcsim
