#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/share.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/slot_policy_base.hpp"

namespace mcsim {

inline constexpr std::size_t kMostQueues = 16;

// Multi-Queue: LRU queues by the logarithm of a block's number of accesses. A block without
// accesses for its lifetime moves one queue down; victims come from the lowest non-empty queue. A
// FIFO ghost queue remembers the counts of victims.
//
// The paper derives the lifetime from the histogram of temporal distances; here it is a multiple of
// the capacity.
//
// O(queues) per access; 25 bytes per slot, five slots per block of the capacity.
class Mq : public SlotPolicyBase<SlotLists<kMostQueues + 1>> {
 public:
  struct Params {
    int queues = 8;
    double lifetime = 10;
    double ghosts = 4;
    static constexpr auto fields() {
      return std::tuple{
          Field{"queues", &Params::queues, "number of LRU queues", 1,
                static_cast<double>(kMostQueues)},
          Field{"lifetime", &Params::lifetime,
                "number of accesses after which an unused block moves one queue down, as a "
                "multiple of the capacity",
                0},
          Field{"ghosts", &Params::ghosts,
                "number of evicted blocks remembered, as a multiple of the capacity", 0}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "mq",
      .summary = "Keeps LRU queues by access frequency; unused blocks move down over time.",
      .reference =
          "Zhou, Philbin, Li: The Multi-Queue replacement algorithm for second level "
          "buffer caches, USENIX ATC 2001"};

  Mq(const Params& params, const PolicySetup& setup)
      : SlotPolicyBase(setup, setup.capacity + floor_share(params.ghosts, setup.capacity)),
        params_(params),
        top_(static_cast<std::size_t>(params.queues) - 1),
        states_(slots()) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot && resident(slot);
    if (!hit && size() == capacity_) {
      evict(cache);
      slot = cache.find(a.block);  // eviction may have dropped its ghost
    }
    if (slot == kNoSlot) {
      slot = cache.insert(a.block);
      states_[slot].count = 0;
    } else {
      blocks_.erase(slot);
    }
    Block& block = states_[slot];
    ++block.count;
    block.expires = now_ + lifetime_;
    blocks_.push_front(queue_of(block.count), slot);
    adjust();
    return hit;
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (size() > capacity_) evict(cache);
    limit_ghosts(cache);
    const std::size_t slots = cache.slots_for(capacity_ + most_ghosts_);
    blocks_.reserve(slots);
    if (slots > states_.size()) states_.extend(slots);
  }

  bool resident(Slot slot) const { return blocks_.list_of(slot) != kGhosts; }
  Count size() const {
    Count size = 0;
    for (std::size_t queue = 0; queue <= top_; ++queue) size += blocks_.size(queue);
    return size;
  }
  void prefetch(Slot slot) const {
    blocks_.prefetch(slot);
    prefetch_line(&states_[slot]);
  }
  absl::Status check() const {
    if (blocks_.size(kGhosts) > most_ghosts_) {
      return internal_error("mq: {} ghosts of {}", blocks_.size(kGhosts), most_ghosts_);
    }
    return blocks_.check();
  }
  std::size_t bytes() const { return blocks_.bytes() + states_.size() * sizeof(Block); }
  auto state() { return std::tie(blocks_, states_, now_); }

 private:
  static constexpr std::size_t kGhosts = kMostQueues;  // Qout

  struct Block {
    std::uint64_t expires;
    std::uint32_t count;
    auto state() { return std::tie(expires, count); }
  };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    lifetime_ = static_cast<std::uint64_t>(floor_share(params_.lifetime, capacity));
    most_ghosts_ = floor_share(params_.ghosts, capacity);
  }
  std::size_t queue_of(std::uint32_t count) const {
    return std::min(static_cast<std::size_t>(std::bit_width(count)) - 1, top_);
  }

  void evict(auto& cache) {
    std::size_t queue = 0;
    while (blocks_.empty(queue)) ++queue;
    const Slot victim = blocks_.back(queue);
    blocks_.move_to_front(kGhosts, victim);
    cache.evict_to_ghost(victim);
    limit_ghosts(cache);
  }
  void limit_ghosts(auto& cache) {
    while (blocks_.size(kGhosts) > most_ghosts_) cache.forget_back(blocks_, kGhosts);
  }

  // Advance the time. The first block of each queue moves down if its lifetime is over.
  void adjust() {
    ++now_;
    for (std::size_t queue = 1; queue <= top_; ++queue) {
      if (blocks_.empty(queue)) continue;
      const Slot slot = blocks_.back(queue);
      if (states_[slot].expires >= now_) continue;
      states_[slot].expires = now_ + lifetime_;
      blocks_.move_to_front(queue - 1, slot);
    }
  }

  Params params_;
  std::size_t top_;  // the highest queue
  Pages<Block> states_;
  std::uint64_t now_ = 0;
  std::uint64_t lifetime_ = 0;
  Count most_ghosts_ = 0;
};

}  // namespace mcsim
