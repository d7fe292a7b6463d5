#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/containers/slot_heap.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/eviction_policy.hpp"
#include "policies/eviction/two_experts.hpp"

namespace mcsim {

// CACHEUS: LeCaR with better experts and no parameters. SR-LRU keeps what was reused
// in an LRU list S, and newcomers and what S has too much in a list Q, from which it
// evicts; their sizes adapt as in ARC, to hits of blocks that S demoted and to misses
// of new blocks that were evicted unused. CR-LFU evicts the most recent of those of
// the lowest count. The learning rate climbs with the hit rate, over periods of as
// many accesses as blocks fit.
//
// As in the authors' code, the histories have half the capacity each, blocks that fill
// the cache at first are not new, and a rate that helps no longer for ten periods is
// set to what it began with (the paper draws it at random). A block is not new any more
// once it is hit, and one that returns from a history has its count and one more.
//
// O(log n) an access; 45 bytes a slot, two slots a block of the capacity.
class Cacheus {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "cacheus",
      .summary = "Learns which of a scan- and a churn-resistant expert to follow.",
      .reference =
          "Rodriguez, Yusuf, Lyons, Paz, Rangaswami, Liu, Zhao, Narasimhan: Learning cache "
          "replacement with CACHEUS, FAST 2021"};

  Cacheus(const Params&, const PolicySetup& setup)
      : lists_(setup.slots_for(2 * setup.capacity)),
        counts_(lists_.slots()),
        blocks_(lists_.slots()),
        experts_(Random(setup.seed).split(kInfo.name)) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    ++now_;
    learn();
    const Slot slot = cache.find(a.block);
    if (slot != kNoSlot && resident(slot)) {
      ++hits_;
      hit(slot);
      return true;
    }
    if (slot != kNoSlot) {
      return_from_history(slot, cache);
    } else {
      bring_in(a.block, cache);
    }
    return false;
  }

  void remove(Slot slot, auto& cache) {
    clear_demoted(slot);
    lists_.erase(slot);
    counts_.erase(slot);
    cache.forget(slot);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (lists_.size(kReused) > most_reused_) demote();
    while (size() > capacity_) evict(cache);
    for (const std::size_t history : {kOfLru, kOfLfu}) {
      while (lists_.size(history) > most_remembered_) forget_oldest(history, cache);
    }
    const std::size_t slots = cache.slots_for(2 * capacity_);
    lists_.reserve(slots);
    counts_.reserve(slots);
    if (slots > blocks_.size()) blocks_.extend(slots);
  }

  bool resident(Slot slot) const { return lists_.list_of(slot) <= kQueue; }
  Count size() const { return lists_.size(kReused) + lists_.size(kQueue); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return lists_.slots(); }
  void prefetch(Slot slot) const {
    lists_.prefetch(slot);
    counts_.prefetch(slot);
    __builtin_prefetch(&blocks_[slot], 1);
  }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    Count demoted = 0;
    Count unused = 0;
    for (Slot slot = lists_.front(kQueue); slot != kNoSlot; slot = lists_.older(slot)) {
      demoted += blocks_[slot].demoted ? 1 : 0;
    }
    for (Slot slot = lists_.front(kOfLru); slot != kNoSlot; slot = lists_.older(slot)) {
      unused += blocks_[slot].is_new ? 1 : 0;
    }
    if (demoted != demoted_ || unused != unused_ || counts_.size() != size()) {
      return internal_error("cacheus: {} demoted, not {}; {} unused, not {}; {} counts of {}",
                            demoted, demoted_, unused, unused_, counts_.size(), size());
    }
    return counts_.check();
  }
  std::size_t bytes() const {
    return lists_.bytes() + counts_.bytes() + blocks_.size() * sizeof(Block);
  }

 private:
  // S, Q and the histories.
  static constexpr std::size_t kReused = 0, kQueue = 1, kOfLru = 2, kOfLfu = 3;
  static constexpr TwoExperts::Expert kLru = TwoExperts::kFirst, kLfu = TwoExperts::kSecond;
  static constexpr double kLeastRate = 0.001;
  static constexpr int kPatience = 10;  // periods

  struct Block {
    std::uint32_t count;
    bool demoted;  // from S to Q
    bool is_new;   // came in to Q and was not hit
  };

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    most_remembered_ = capacity / 2;
    set_most_queued(std::max<Count>(1, std::llround(0.01 * static_cast<double>(capacity))));
    first_rate_ = std::sqrt(2 * kLn2 / static_cast<double>(std::max<Count>(1, capacity)));
    rate_ = first_rate_;
    last_rate_ = last_hit_rate_ = 0;
    accesses_ = hits_ = 0;
    idle_periods_ = 0;
  }
  void set_most_queued(Count blocks) {
    most_reused_ = std::max<Count>(0, capacity_ - blocks);
    most_queued_ = capacity_ - most_reused_;
  }

  // --- What happens to a block ---------------------------------------------------

  void hit(Slot slot) {
    Block& block = blocks_[slot];
    counts_.update(slot, rank(++block.count));
    block.is_new = false;
    if (lists_.list_of(slot) == kReused) {
      lists_.move_to_front(kReused, slot);
      return;
    }
    if (block.demoted) {
      const Count step = std::llround(ratio(unused_, demoted_));
      set_most_queued(capacity_ - std::min(capacity_ - 1, most_reused_ + std::max<Count>(1, step)));
      clear_demoted(slot);
    }
    lists_.erase(slot);
    if (lists_.size(kReused) >= most_reused_ && !lists_.empty(kReused)) demote();
    lists_.push_front(kReused, slot);
  }

  void return_from_history(Slot slot, auto& cache) {
    const std::size_t history = lists_.list_of(slot);
    Block& block = blocks_[slot];
    lists_.erase(slot);
    if (history == kOfLru && block.is_new) {
      --unused_;
      const Count step = std::llround(ratio(demoted_, unused_));
      set_most_queued(std::min(capacity_ - 1, most_queued_ + std::max<Count>(1, step)));
    }
    experts_.punish(history == kOfLru ? kLru : kLfu, rate_);
    if (size() == capacity_) evict(cache);
    block = {.count = block.count + 1, .demoted = false, .is_new = false};
    enter(kReused, slot);
    limit_reused();
  }

  void bring_in(auto id, auto& cache) {
    const bool fills_reused = lists_.size(kReused) < most_reused_ && lists_.empty(kQueue);
    const bool fills_queue = size() < capacity_ && lists_.size(kQueue) < most_queued_;
    if (size() == capacity_) evict(cache);
    const Slot slot = cache.insert(id);
    blocks_[slot] = {.count = 1, .demoted = false, .is_new = !fills_reused && !fills_queue};
    enter(fills_reused ? kReused : kQueue, slot);
    if (blocks_[slot].is_new) limit_reused();
  }

  void enter(std::size_t list, Slot slot) {
    lists_.push_front(list, slot);
    counts_.push(slot, rank(blocks_[slot].count));
  }
  // Of equal counts the last access comes first.
  CountAndTime rank(std::uint32_t count) const { return {.count = count, .time = ~now_}; }

  static double ratio(Count a, Count b) {
    return static_cast<double>(a) / static_cast<double>(std::max<Count>(1, b));
  }
  void limit_reused() {
    while (lists_.size(kReused) >= most_reused_ && !lists_.empty(kReused)) demote();
  }
  void demote() {
    const Slot slot = lists_.back(kReused);
    lists_.move_to_front(kQueue, slot);
    blocks_[slot].demoted = true;
    ++demoted_;
  }
  void clear_demoted(Slot slot) {
    if (!blocks_[slot].demoted) return;
    blocks_[slot].demoted = false;
    --demoted_;
  }

  void evict(auto& cache) {
    const Slot lru = lists_.back(lists_.empty(kQueue) ? kReused : kQueue);
    const Slot lfu = counts_.top();
    const TwoExperts::Expert expert = experts_.choose();
    const Slot victim = expert == kLru ? lru : lfu;
    const std::size_t history = expert == kLru ? kOfLru : kOfLfu;
    clear_demoted(victim);
    lists_.erase(victim);
    counts_.erase(victim);
    if (lru == lfu || most_remembered_ == 0) {
      cache.evict(victim);
      return;
    }
    if (lists_.size(history) >= most_remembered_) forget_oldest(history, cache);
    lists_.push_front(history, victim);
    if (history == kOfLru && blocks_[victim].is_new) ++unused_;
    cache.evict_to_ghost(victim);
  }
  void forget_oldest(std::size_t history, auto& cache) {
    const Slot slot = lists_.pop_back(history);
    if (history == kOfLru && blocks_[slot].is_new) --unused_;
    cache.forget(slot);
  }

  // --- The learning rate ---------------------------------------------------------

  // At the end of a period the rate goes on, if the hit rate followed its last change,
  // or else back.
  void learn() {
    if (accesses_++ < capacity_) return;
    const double hit_rate = static_cast<double>(hits_) / static_cast<double>(capacity_);
    const double change = hit_rate - last_hit_rate_;
    const double step = rate_ - last_rate_;
    last_hit_rate_ = hit_rate;
    last_rate_ = rate_;
    accesses_ = 1;
    hits_ = 0;
    if (step != 0) {
      const double size = std::abs(rate_ * step);
      rate_ = std::clamp(change / step > 0 ? rate_ + size : rate_ - size, kLeastRate, 1.0);
      idle_periods_ = 0;
    } else if ((hit_rate == 0 || change <= 0) && ++idle_periods_ == kPatience) {
      rate_ = std::clamp(first_rate_, kLeastRate, 1.0);
      idle_periods_ = 0;
    }
  }

  static constexpr double kLn2 = 0x1.62e42fefa39efp-1;

  SlotLists<4> lists_;             // most recent first
  SlotHeap<CountAndTime> counts_;  // of what is held
  Pages<Block> blocks_;
  TwoExperts experts_;
  std::uint64_t now_ = 0;
  Count capacity_ = 0;
  Count most_reused_ = 0;
  Count most_queued_ = 0;
  Count most_remembered_ = 0;  // by each history
  Count demoted_ = 0;          // blocks in Q
  Count unused_ = 0;           // new blocks in the history of SR-LRU
  double rate_ = 0;
  double first_rate_ = 0;
  double last_rate_ = 0;
  double last_hit_rate_ = 0;
  Count accesses_ = 0;  // of this period
  Count hits_ = 0;
  int idle_periods_ = 0;
};

}  // namespace mcsim
