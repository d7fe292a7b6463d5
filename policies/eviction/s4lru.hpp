#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"

namespace mcsim {

// S4LRU: LRU lists one above the other, each with its share of the cache. Blocks come
// in at the lowest; a hit takes a block one list up, and what a list has too much
// goes one list down. What the lowest has too much leaves, also while there is space
// in others; with `fill`, as in libCacheSim, newcomers take that space first.
//
// O(1) an access; 9 bytes a block of the capacity.
class S4Lru {
 public:
  struct Params {
    int segments = 4;
    bool fill = false;
    static constexpr auto fields() {
      return std::tuple{Field{"segments", &Params::segments, "LRU lists of equal size", 1,
                              static_cast<double>(kMaxSegments)},
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
      : lists_(setup.slots_for(setup.capacity)),
        segments_(static_cast<std::size_t>(params.segments)),
        fill_(params.fill),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    if (const Slot slot = cache.find(a.block); slot != kNoSlot) {
      const std::size_t segment = std::min(lists_.list_of(slot) + 1, segments_ - 1);
      lists_.move_to_front(segment, slot);
      demote_from(segment);
      return true;
    }
    std::size_t segment = fill_ ? lowest_with_space() : 0;
    if (lists_.size(segment) == share(segment)) {
      segment = 0;
      cache.evict_back(lists_, segment);
    }
    lists_.push_front(segment, cache.insert(a.block));
    return false;
  }

  void remove(Slot slot, auto& cache) {
    lists_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    demote_from(segments_ - 1);
    while (lists_.size(0) > share(0)) cache.evict_back(lists_, 0);
    lists_.reserve(cache.slots_for(capacity_));
  }

  bool resident(Slot) const { return true; }
  Count size() const {
    Count size = 0;
    for (std::size_t segment = 0; segment < segments_; ++segment) size += lists_.size(segment);
    return size;
  }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return lists_.slots(); }
  void prefetch(Slot slot) const { lists_.prefetch(slot); }
  absl::Status check() const {
    for (std::size_t segment = 0; segment < segments_; ++segment) {
      if (lists_.size(segment) > share(segment)) {
        return internal_error("s4lru: {} blocks in segment {} of {}", lists_.size(segment), segment,
                              share(segment));
      }
    }
    return lists_.check();
  }
  std::size_t bytes() const { return lists_.bytes(); }

 private:
  static constexpr std::size_t kMaxSegments = 8;

  // Of the capacity; the lower segments have one more where it does not divide.
  Count share(std::size_t segment) const {
    const auto parts = static_cast<Count>(segments_);
    return capacity_ / parts + (static_cast<Count>(segment) < capacity_ % parts ? 1 : 0);
  }
  std::size_t lowest_with_space() const {
    std::size_t segment = 0;
    while (segment + 1 < segments_ && lists_.size(segment) == share(segment)) ++segment;
    return segment;
  }
  void demote_from(std::size_t segment) {
    for (; segment > 0; --segment) {
      while (lists_.size(segment) > share(segment)) {
        lists_.move_to_front(segment - 1, lists_.back(segment));
      }
    }
  }

  SlotLists<kMaxSegments> lists_;
  std::size_t segments_;
  bool fill_;
  Count capacity_;
};

}  // namespace mcsim
