#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

inline constexpr std::size_t kMostSegments = 8;

// S4LRU: LRU lists one above the other, each with its share of the cache. Blocks come
// in at the lowest; a hit takes a block one list up, and what a list has too much
// goes one list down. What the lowest has too much leaves, also while there is space
// in others; with `fill`, as in libCacheSim, newcomers take that space first.
//
// O(1) an access; 9 bytes a block of the capacity.
class S4Lru : public SlotPolicyBase<SlotLists<kMostSegments>> {
 public:
  struct Params {
    int segments = 4;
    bool fill = false;
    static constexpr auto fields() {
      return std::tuple{Field{"segments", &Params::segments, "LRU lists of equal size", 1,
                              static_cast<double>(kMostSegments)},
                        Field{"fill", &Params::fill, "newcomers go to the lowest with space"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "s4lru",
      .summary = "Four LRU lists of fixed size; a hit takes a block one list up.",
      .reference =
          "Huang, Birman, van Renesse, Lloyd, Kumar, Li: An analysis of Facebook photo "
          "caching, SOSP 2013"};

  S4Lru(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup),
        segments_(static_cast<std::size_t>(params.segments)),
        fill_(params.fill) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      const std::size_t segment = std::min(kept_.list_of(slot) + 1, segments_ - 1);
      kept_.move_to_front(segment, slot);
      demote_from(segment);
      return true;
    }
    std::size_t segment = fill_ ? lowest_with_space() : 0;
    if (kept_.size(segment) == share(segment)) {
      segment = 0;
      cache.evict_back(kept_, segment);
    }
    kept_.push_front(segment, cache.insert(a.block));
    return false;
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    demote_from(segments_ - 1);
    while (kept_.size(0) > share(0)) cache.evict_back(kept_, 0);
    kept_.reserve(cache.slots_for(capacity_));
  }

  Count size() const {
    Count size = 0;
    for (std::size_t segment = 0; segment < segments_; ++segment) size += kept_.size(segment);
    return size;
  }
  absl::Status check() const {
    for (std::size_t segment = 0; segment < segments_; ++segment) {
      if (kept_.size(segment) > share(segment)) {
        return internal_error("s4lru: {} blocks in segment {} of {}", kept_.size(segment), segment,
                              share(segment));
      }
    }
    return kept_.check();
  }

 private:
  // Of the capacity; the lower segments have one more where it does not divide.
  Count share(std::size_t segment) const {
    const auto parts = static_cast<Count>(segments_);
    return capacity_ / parts + (static_cast<Count>(segment) < capacity_ % parts ? 1 : 0);
  }
  std::size_t lowest_with_space() const {
    std::size_t segment = 0;
    while (segment + 1 < segments_ && kept_.size(segment) == share(segment)) ++segment;
    return segment;
  }
  void demote_from(std::size_t segment) {
    for (; segment > 0; --segment) {
      while (kept_.size(segment) > share(segment)) {
        kept_.move_to_front(segment - 1, kept_.back(segment));
      }
    }
  }

  std::size_t segments_;
  bool fill_;
};

}  // namespace mcsim
