#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/share.hpp"
#include "core/containers/slot_heap.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// LRU-K: evicts the block whose K-th last reference is oldest. Blocks with fewer references are
// evicted first, the least recently used one on a tie. References within the correlated period
// after the last one count as one with it, and a block in that period is evicted only if all blocks
// are. References are remembered after eviction for `history` capacities of blocks, in FIFO order;
// for objects of different sizes, the ghosts are limited by their bytes.
//
// O(log n) per access; 46 + 8 k bytes per slot, one slot per block held or remembered.
class LruK {
 public:
  struct Params {
    int k = 2;
    Count correlated = 0;
    double history = 1;
    static constexpr auto fields() {
      return std::tuple{
          Field{"k", &Params::k, "K: the reference that ranks a block, counted from the last one",
                1, 16},
          Field{"correlated", &Params::correlated,
                "length of the correlated reference period, in accesses", 0},
          Field{"history", &Params::history,
                "number of evicted blocks remembered, as a multiple of the capacity", 0}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lru-k",
      .summary = "Evicts the block whose K-th last reference is oldest.",
      .reference =
          "O'Neil, O'Neil, Weikum: The LRU-K page replacement algorithm for database disk "
          "buffering, SIGMOD 1993"};

  LruK(const Params& params, const PolicySetup& setup)
      : params_(params),
        k_(static_cast<std::size_t>(params.k)),
        lists_(setup.slots_for(setup.capacity + most_ghosts(setup.capacity))),
        ranking_(lists_.slots()),
        state_(lists_.slots()),
        last_(lists_.slots()),
        times_(lists_.slots() * k_),
        capacity_(setup.capacity) {}

  bool access(const auto& a, auto& cache) {
    ++now_;
    end_periods(cache);
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot && resident(slot);
    if (hit) {
      refer_again(slot, cache);
    } else {
      make_room(cache, [&] { return cache.is_full(*this); }, [&] { evict(cache); });
      slot = cache.find(a.block);  // eviction may have dropped its ghost
      if (slot == kNoSlot) {
        slot = cache.insert(a.block);
        for (std::size_t i = 0; i < k_; ++i) time(slot, i) = 0;
      } else {
        lists_.erase(slot, cache);
        cache.revive(slot);
        shift(slot, 0);
      }
      time(slot, 0) = last_[slot] = now_;
      enter(slot, cache);
    }
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    leave(slot, cache);
    cache.forget(slot);
  }
  void reweigh(Slot slot, Count more) {
    if (state_[slot] != State::kRanked) lists_.reweigh(slot, more);
  }

  void resize(Count capacity, auto& cache) {
    capacity_ = capacity;
    while (size() > capacity_) evict(cache);
    limit_ghosts(cache);
    const std::size_t slots = cache.slots_for(capacity_ + most_ghosts(capacity_));
    if (slots <= lists_.slots()) return;
    lists_.reserve(slots);
    ranking_.reserve(slots);
    state_.extend(slots);
    last_.extend(slots);
    times_.extend(slots * k_);
  }

  bool resident(Slot slot) const { return state_[slot] != State::kGhost; }
  Count size() const { return lists_.size(kYoung) + lists_.size(kCorrelated) + ranking_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return lists_.slots(); }
  void prefetch(Slot slot) const {
    lists_.prefetch(slot);
    ranking_.prefetch(slot);
    prefetch_line(&state_[slot]);
    prefetch_line(&last_[slot]);
    prefetch_line(&times_[slot * k_]);
  }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(lists_.check());
    if (lists_.size(kGhosts) > most_ghosts(capacity_)) {
      return internal_error("lru-k: {} ghosts of {}", lists_.size(kGhosts), most_ghosts(capacity_));
    }
    return ranking_.check();
  }
  std::size_t bytes() const {
    return lists_.bytes() + ranking_.bytes() + state_.size() +
           (last_.size() + times_.size()) * sizeof(std::uint64_t);
  }
  auto state() { return std::tie(lists_, ranking_, state_, last_, times_, now_); }

 private:
  enum class State : std::uint8_t { kCorrelated, kYoung, kRanked, kGhost };
  // The most recently referenced first; ghosts by eviction.
  static constexpr std::size_t kCorrelated = 0, kYoung = 1, kGhosts = 2;

  struct Rank {
    std::uint64_t kth;  // time of the K-th last reference
    std::uint64_t last;
    auto operator<=>(const Rank&) const = default;
  };

  Count most_ghosts(Count capacity) const { return floor_share(params_.history, capacity); }
  // Return the time of reference i + 1 from the last; 0 if there was none.
  std::uint64_t& time(Slot slot, std::size_t i) { return times_[slot * k_ + i]; }

  void refer_again(Slot slot, const auto& cache) {
    if (state_[slot] == State::kCorrelated) {
      last_[slot] = now_;
      lists_.move_to_front(kCorrelated, slot, cache);
      return;
    }
    shift(slot, last_[slot] - time(slot, 0));
    time(slot, 0) = last_[slot] = now_;
    if (state_[slot] == State::kRanked && params_.correlated == 0) {
      ranking_.update(slot, {time(slot, k_ - 1), now_});
      return;
    }
    leave(slot, cache);
    enter(slot, cache);
  }
  // Shift the reference times to insert a new one; the older ones move by the length of the last
  // burst.
  void shift(Slot slot, std::uint64_t burst) {
    for (std::size_t i = k_ - 1; i > 0; --i) {
      const std::uint64_t newer = time(slot, i - 1);
      time(slot, i) = newer == 0 ? 0 : newer + burst;
    }
  }

  void enter(Slot slot, const auto& cache) {
    if (params_.correlated == 0) return settle(slot, cache);
    state_[slot] = State::kCorrelated;
    lists_.push_front(kCorrelated, slot, cache);
  }
  void settle(Slot slot, const auto& cache) {
    if (time(slot, k_ - 1) == 0) {
      state_[slot] = State::kYoung;
      lists_.push_front(kYoung, slot, cache);
    } else {
      state_[slot] = State::kRanked;
      ranking_.push(slot, {time(slot, k_ - 1), last_[slot]});
    }
  }
  void leave(Slot slot, const auto& cache) {
    if (state_[slot] == State::kRanked) {
      ranking_.erase(slot);
    } else {
      lists_.erase(slot, cache);
    }
  }
  // End the periods of blocks without references for a correlated period; these may be evicted now.
  void end_periods(const auto& cache) {
    while (!lists_.empty(kCorrelated)) {
      const Slot slot = lists_.back(kCorrelated);
      if (now_ - last_[slot] <= static_cast<std::uint64_t>(params_.correlated)) return;
      lists_.erase(slot, cache);
      settle(slot, cache);
    }
  }

  void evict(auto& cache) {
    const Slot victim = !lists_.empty(kYoung) ? lists_.back(kYoung)
                        : !ranking_.empty()   ? ranking_.top()
                                              : lists_.back(kCorrelated);
    leave(victim, cache);
    state_[victim] = State::kGhost;
    lists_.push_front(kGhosts, victim, cache);
    cache.evict_to_ghost(victim);
    limit_ghosts(cache);
  }
  void limit_ghosts(auto& cache) {
    while (lists_.weight(kGhosts, cache) > most_ghosts(capacity_)) {
      cache.forget_back(lists_, kGhosts);
    }
  }

  Params params_;
  std::size_t k_;
  WeighedLists<3> lists_;
  SlotHeap<Rank> ranking_;  // of blocks with K references
  Pages<State> state_;
  Pages<std::uint64_t> last_;
  Pages<std::uint64_t> times_;  // k_ per slot
  std::uint64_t now_ = 0;
  Count capacity_;
};

}  // namespace mcsim
