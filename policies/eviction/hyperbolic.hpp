#pragma once

#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/random.hpp"
#include "core/containers/slot_set.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// Hyperbolic caching: the priority of a block is how often it was accessed since it
// came in, over the time since then. The victim is the least of a random sample, drawn
// with replacement.
//
// O(1) a hit, O(sample) a miss; 24 bytes a block of the capacity.
class Hyperbolic {
 public:
  struct Params {
    int sample = 64;
    static constexpr auto fields() {
      return std::tuple{Field{"sample", &Params::sample, "blocks drawn for a victim", 1, 65536}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "hyperbolic",
      .summary = "Evicts the least often accessed for its time in the cache, of a sample.",
      .reference =
          "Blankstein, Sen, Freedman: Hyperbolic caching: Flexible caching for web "
          "applications, USENIX ATC 2017"};

  Hyperbolic(const Params& params, const PolicySetup& setup)
      : sample_(params.sample),
        held_(setup.slots_for(setup.capacity)),
        blocks_(held_.slots()),
        random_(Random(setup.seed).split(kInfo.name)),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    ++now_;
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      ++blocks_[slot].count;
      return true;
    }
    if (size() == capacity_) evict(cache);
    const Slot slot = cache.insert(a.block);
    held_.insert(slot);
    blocks_[slot] = {.came = now_, .count = 1};
    return false;
  }

  void remove(Slot slot, auto& cache) {
    held_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    held_.reserve(cache.slots_for(capacity_));
    if (held_.slots() > blocks_.size()) blocks_.extend(held_.slots());
  }

  bool resident(Slot) const { return true; }
  Count size() const { return held_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return held_.slots(); }
  void prefetch(Slot slot) const { __builtin_prefetch(&blocks_[slot], 1); }
  absl::Status check() const { return held_.check(); }
  std::size_t bytes() const { return held_.bytes() + blocks_.size() * sizeof(Block); }

 private:
  struct Block {
    std::uint64_t came;
    std::uint32_t count;
  };

  double priority(Slot slot) const {
    const Block& block = blocks_[slot];
    return static_cast<double>(block.count) / static_cast<double>(now_ + 1 - block.came);
  }
  Slot draw() { return held_[random_.below(static_cast<std::uint64_t>(held_.size()))]; }

  void evict(auto& cache) {
    Slot victim = draw();
    double least = priority(victim);
    for (int i = 1; i < sample_; ++i) {
      const Slot slot = draw();
      const double other = priority(slot);
      if (other >= least) continue;
      least = other;
      victim = slot;
    }
    held_.erase(victim);
    cache.evict(victim);
  }

  int sample_;
  SlotSet held_;
  Pages<Block> blocks_;
  Random random_;
  std::uint64_t now_ = 0;
  Count capacity_;
};

}  // namespace mcsim
