#pragma once

#include <tuple>

#include "core/containers/count_min_sketch.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// TinyLFU before LRU, without a window: a new block is refused unless it was accessed more often
// than the victim of LRU, by a sketch of all recent accesses with counts that are halved as they
// age. Accesses are counted once the cache has been filled to the share `start`.
//
// O(1) per access, amortised; 8 bytes per block of the capacity, the sketch 8 to 16.
class TinyLfu : public SlotPolicyBase<SlotLists<1>> {
 public:
  struct Params {
    double sample = 10;
    double counters = 16;
    double start = 0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"sample", &Params::sample,
                "number of accesses after which counts are halved, as a multiple of the capacity",
                1},
          Field{"counters", &Params::counters,
                "number of counters of the sketch per block of the capacity", 1},
          Field{"start", &Params::start,
                "share of the capacity that is filled before accesses are counted", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "tinylfu",
      .summary = "Refuses a block that was not accessed more often than the victim of LRU.",
      .reference =
          "Einziger, Friedman, Manes: TinyLFU: A highly efficient cache admission policy, "
          "ACM Transactions on Storage 13(4), 2017"};

  TinyLfu(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), params_(params), sketch_(counters(slots())) {}

  bool admits(const auto& a, auto& cache) {
    count(a.block);
    if (size() < capacity_) return true;
    return size() > 0 && sketch_.estimate(a.block) > sketch_.estimate(cache.block(blocks_.back()));
  }

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      count(a.block);
      blocks_.move_to_front(0, slot);
      return true;
    }
    if (size() == capacity_) cache.evict_back(blocks_);
    blocks_.push_front(0, cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) cache.evict_back(blocks_);
    const std::size_t slots = cache.slots_for(capacity_);
    blocks_.reserve(slots);
    sketch_.reserve(counters(slots));
  }

  std::size_t bytes() const { return blocks_.bytes() + sketch_.bytes(); }
  auto state() { return std::tie(blocks_, sketch_, counted_, counts_); }

 private:
  std::size_t counters(std::size_t slots) const {
    return static_cast<std::size_t>(floor_share(params_.counters, static_cast<Count>(slots)));
  }
  void count(std::uint64_t block) {
    counts_ = counts_ || size() >= floor_share(params_.start, capacity_);
    if (!counts_ || !sketch_.add(block) || ++counted_ < share_of(params_.sample, capacity_)) return;
    counted_ /= 2;
    sketch_.halve();
  }

  Params params_;
  CountMinSketch sketch_;
  Count counted_ = 0;    // accesses since the counts were zero, halved with them
  bool counts_ = false;  // whether accesses are counted
};

}  // namespace mcsim
