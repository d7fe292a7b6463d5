#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/containers/monotone_queue.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// LFU with dynamic ageing: the key of a block is its number of accesses since insertion, plus the
// age of the cache at its last access. The age is the key of the last victim, so formerly popular
// blocks are overtaken. Among equal keys the least recently used block is evicted.
//
// O(1) per access, amortised; 22 to 24 bytes per block of the capacity.
class LfuDa : public SlotPolicyBase<MonotoneQueue> {
 public:
  using Params = NoParams;
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lfu-da",
      .summary =
          "Evicts by access counts plus an age that rises to the key of each victim (LFU with "
          "ageing).",
      .reference =
          "Arlitt, Cherkasova, Dilley, Friedrich, Jin: Evaluating content management "
          "techniques for web proxy caches, ACM SIGMETRICS PER 27(4), 2000"};

  LfuDa(const Params&, const PolicySetup& setup) : SlotPolicyBase(setup), count_(slots()) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      blocks_.update(slot, age_ + ++count_[slot]);
      return true;
    }
    while (cache.is_full(*this)) evict(cache);
    const Slot slot = cache.insert(a.block);
    count_[slot] = 1;
    blocks_.insert(slot, age_ + 1);
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    const std::size_t slots = cache.slots_for(capacity_);
    blocks_.reserve(slots);
    if (slots > count_.size()) count_.extend(slots);
  }

  void prefetch(Slot slot) const {
    blocks_.prefetch(slot);
    prefetch_line(&count_[slot]);
  }
  std::size_t bytes() const { return blocks_.bytes() + count_.size() * sizeof(std::uint32_t); }
  auto state() { return std::tie(blocks_, count_, age_); }

 private:
  void evict(auto& cache) {
    const Slot victim = blocks_.least();
    age_ = blocks_.key(victim);
    blocks_.erase(victim);
    cache.evict(victim);
  }

  Pages<std::uint32_t> count_;
  std::uint64_t age_ = 0;
};

}  // namespace mcsim
