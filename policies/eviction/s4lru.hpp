#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

inline constexpr std::size_t kMostSegments = 8;

// S4LRU: a sequence of LRU lists, each with a fixed share of the cache. New blocks enter the lowest
// list; a hit moves a block one list up, and the excess of a list moves one list down. The excess
// of the lowest list is evicted, even while other lists have space. With `fill`, as in libCacheSim,
// new blocks take that space first, and blocks that cannot be divided equally extend the lowest
// list once all lists are full. If there are such blocks, a hit in libCacheSim may evict them; here
// hits have no victims, and the next miss evicts.
//
// O(1) per access; 9 bytes per block of the capacity.
class S4Lru : public SlotPolicyBase<SlotLists<kMostSegments>> {
 public:
  struct Params {
    int segments = 4;
    bool fill = false;
    static constexpr auto fields() {
      return std::tuple{
          Field{"segments", &Params::segments, "number of LRU lists of equal size", 1,
                static_cast<double>(kMostSegments)},
          Field{"fill", &Params::fill,
                "whether new blocks enter the lowest list with free space, not the lowest list"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "s4lru",
      .summary = "Divides the cache into four LRU lists; each hit moves a block one list up.",
      .reference =
          "Huang, Birman, van Renesse, Lloyd, Kumar, Li: An analysis of Facebook photo "
          "caching, SOSP 2013"};

  S4Lru(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup),
        segments_(static_cast<std::size_t>(params.segments)),
        fill_(params.fill) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      const std::size_t segment = std::min(blocks_.list_of(slot) + 1, segments_ - 1);
      blocks_.move_to_front(segment, slot);
      demote_from(segment);
      return true;
    }
    const std::size_t segment = fill_ ? lowest_with_space() : 0;
    if (blocks_.size(segment) == share(segment)) cache.evict_back(blocks_, segment);
    blocks_.push_front(segment, cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    demote_from(segments_ - 1);
    while (blocks_.size(0) > share(0)) cache.evict_back(blocks_, 0);
    blocks_.reserve(cache.slots_for(capacity_));
  }

  Count size() const {
    Count size = 0;
    for (std::size_t segment = 0; segment < segments_; ++segment) size += blocks_.size(segment);
    return size;
  }
  absl::Status check() const {
    for (std::size_t segment = 0; segment < segments_; ++segment) {
      if (blocks_.size(segment) > share(segment)) {
        return internal_error("s4lru: {} blocks in segment {} of {}", blocks_.size(segment),
                              segment, share(segment));
      }
    }
    return blocks_.check();
  }
  auto state() { return std::tie(blocks_); }

 private:
  Count equal_share() const { return capacity_ / static_cast<Count>(segments_); }
  // Return the share of the capacity of a list. The remainder goes to the lower lists, one block
  // each, or with `fill` to the lowest.
  Count share(std::size_t segment) const {
    const auto list = static_cast<Count>(segment);
    const Count remainder = capacity_ % static_cast<Count>(segments_);
    if (fill_) return equal_share() + (list == 0 ? remainder : 0);
    return equal_share() + (list < remainder ? 1 : 0);
  }
  // Return the lowest list below its equal share; the lowest list if there is none.
  std::size_t lowest_with_space() const {
    for (std::size_t segment = 0; segment < segments_; ++segment) {
      if (blocks_.size(segment) < equal_share()) return segment;
    }
    return 0;
  }
  void demote_from(std::size_t segment) {
    for (; segment > 0; --segment) {
      while (blocks_.size(segment) > share(segment)) {
        blocks_.move_to_front(segment - 1, blocks_.back(segment));
      }
    }
  }

  std::size_t segments_;
  bool fill_;
};

}  // namespace mcsim
