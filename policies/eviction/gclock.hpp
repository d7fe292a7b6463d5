#pragma once

#include <algorithm>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_ring.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

// GCLOCK, or generalised CLOCK: every block has a count, which a hit raises by one up to a limit.
// The hand takes one off the count of each block that it passes, and evicts a block without count.
// The defaults are those of the buffer pool of PostgreSQL. Its ring for scans is left out: the
// server selects it by the size of the scanned table, which accesses do not have.
//
// A miss may move the hand by `most` rounds; 9 bytes per block of the capacity.
class GClock : public SlotPolicyBase<SlotRing> {
 public:
  struct Params {
    Count first = 1;
    Count most = 5;

    static constexpr auto fields() {
      return std::tuple{Field{"first", &Params::first, "count of a new block", 0, 255},
                        Field{"most", &Params::most, "upper limit of the counts", 1, 255}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "gclock",
      .summary = "Evicts the block that the hand finds without count; hits count up to a limit.",
      .reference =
          "Smith: Sequentiality and prefetching in database systems, ACM TODS 3(3), 1978; "
          "PostgreSQL, freelist.c"};

  GClock(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup), counts_(slots()), params_(params) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      if (counts_[slot] < params_.most) ++counts_[slot];
      return true;
    }
    if (size() == capacity_) {
      seek_victim();
      cache.replace(blocks_.hand(), a.block);
      counts_[blocks_.hand()] = first();
      blocks_.advance();
      return false;
    }
    const Slot slot = cache.insert(a.block);
    blocks_.insert(slot);
    counts_[slot] = first();
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    blocks_.reserve(cache.slots_for(capacity_));
    counts_.extend(blocks_.slots());
  }

  void prefetch(Slot) const {}  // the counts fit into the processor's caches
  std::size_t bytes() const { return blocks_.bytes() + counts_.size(); }
  auto state() { return std::tie(blocks_, counts_); }

 private:
  std::uint8_t first() const {
    return static_cast<std::uint8_t>(std::min(params_.first, params_.most));
  }
  void seek_victim() {
    for (; counts_[blocks_.hand()] > 0; blocks_.advance()) --counts_[blocks_.hand()];
  }
  void evict(auto& cache) {
    seek_victim();
    cache.evict(blocks_.pop());
  }

  Pages<std::uint8_t> counts_;
  Params params_;
};

}  // namespace mcsim
