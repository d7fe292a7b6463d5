#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/share.hpp"
#include "core/containers/weighed_lists.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// LIRS: blocks of low inter-reference recency (LIR) occupy nearly all of the cache. The stack S
// holds them by recency, and above the oldest LIR block all other blocks accessed since: resident
// HIR blocks and ghosts. These become LIR if they are accessed again while they are in S. Victims
// come from the queue Q of resident HIR blocks.
//
// As in the authors' simulator, an immediate repetition is a hit that changes nothing, and a stack
// over its limit loses its lowest HIR block; the authors' limit is 2500 capacities, practically
// none. Whenever there is space among the LIR blocks, the next inserted block becomes LIR.
//
// For objects of different sizes, the shares of LIR and HIR objects and the limit of S are in
// bytes. An object that becomes LIR demotes LIR objects until all fit into their share. If Q is
// empty but the new object does not fit, the lowest LIR object is demoted, and then evicted.
//
// O(1) per access, amortised; 17 bytes per slot, six slots per block of the capacity.
class Lirs {
 public:
  struct Params {
    double hirs = 0.01;
    double stack = 5;
    static constexpr auto fields() {
      return std::tuple{
          Field{"hirs", &Params::hirs, "share of the cache for resident HIR blocks", 0, 1},
          Field{"stack", &Params::stack,
                "maximum length of the stack S, as a multiple of the capacity", 1}};
    }
  };
  static constexpr bool kWeighs = true;
  static constexpr ComponentInfo kInfo{
      .name = "lirs",
      .summary = "Keeps blocks with a small distance between their last two accesses.",
      .reference =
          "Jiang, Zhang: LIRS: An efficient low inter-reference recency set replacement "
          "policy to improve buffer cache performance, SIGMETRICS 2002"};

  Lirs(const Params& params, const PolicySetup& setup)
      : params_(params),
        stack_(setup.slots_for(most_slots(setup.capacity))),
        queue_(stack_.slots()),
        state_(stack_.slots()) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot && resident(slot);
    if (hit && slot == last_) return true;
    if (!hit) slot = make_room(slot, a.block, cache);
    if (slot == kNoSlot) {
      slot = cache.insert(a.block);
      push_top(slot, cache);
      if (lir_weight(cache) + cache.next_weight() <= max_lirs_) {
        become_lir(slot, cache);
      } else {
        become_hir(slot);
      }
    } else {
      reuse(slot, cache);
    }
    last_ = slot;
    prune(cache);
    limit_stack(cache);
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    if (state_[slot] != State::kQueued) leave_stack(slot, cache);
    if (state_[slot] == State::kLir) {
      subtract_lir(slot, cache);
    } else {
      queue_.erase(slot);
    }
    cache.forget(slot);
    prune(cache);
  }
  void reweigh(Slot slot, Count more) {
    if (state_[slot] != State::kQueued) stack_.reweigh(slot, more);
    if (state_[slot] == State::kLir) lir_bytes_ += more;
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (lir_weight(cache) > max_lirs_) demote(cache);
    while (size() > capacity_) evict(cache);
    limit_stack(cache);
    const std::size_t slots = cache.slots_for(most_slots(capacity_));
    stack_.reserve(slots);
    queue_.reserve(slots);
    if (slots > state_.size()) state_.extend(slots);
  }

  bool resident(Slot slot) const { return state_[slot] != State::kGhost; }
  Count size() const { return lirs_ + queue_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return stack_.slots(); }
  void prefetch(Slot slot) const {
    stack_.prefetch(slot);
    prefetch_line(&state_[slot]);
  }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(stack_.check());
    MCSIM_RETURN_IF_ERROR(queue_.check());
    if (lirs_ > max_lirs_ || stack_.size() > max_stack_ ||
        (!stack_.empty() && state_[stack_.back()] != State::kLir)) {
      return internal_error("lirs: {} LIR blocks of {}, {} of {} in a stack on a block of state {}",
                            lirs_, max_lirs_, stack_.size(), max_stack_,
                            stack_.empty() ? 0 : static_cast<int>(state_[stack_.back()]));
    }
    return absl::OkStatus();
  }
  std::size_t bytes() const { return stack_.bytes() + queue_.bytes() + state_.size(); }
  auto state() { return std::tie(stack_, queue_, state_, lowest_hir_, last_, lirs_); }

 private:
  enum class State : std::uint8_t {
    kLir,
    kStacked,  // a resident HIR block in the stack and the queue
    kQueued,   // a resident HIR block in the queue only
    kGhost,    // in the stack only
  };

  Count most_stacked(Count capacity) const { return floor_share(params_.stack, capacity); }
  // The new block enters the stack before the limit is enforced.
  Count most_slots(Count capacity) const { return most_stacked(capacity) + capacity + 1; }

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    const Count hirs = floor_share(params_.hirs, capacity);
    max_lirs_ = capacity - std::min(std::max<Count>(2, hirs), std::max<Count>(1, capacity - 1));
    max_lirs_ = std::max<Count>(0, max_lirs_);
    max_stack_ = most_stacked(capacity);
  }

  // Move a block accessed before to the top of the stack.
  void reuse(Slot slot, auto& cache) {
    if (state_[slot] == State::kQueued) {
      queue_.erase(slot);
      push_top(slot, cache);
      become_hir(slot);
      return;
    }
    if (state_[slot] == State::kStacked) queue_.erase(slot);
    leave_stack(slot, cache);
    if (state_[slot] == State::kGhost) cache.revive(slot);
    push_top(slot, cache);
    if (state_[slot] != State::kLir) become_lir(slot, cache);
  }

  void become_hir(Slot slot) {
    state_[slot] = State::kStacked;
    queue_.push_front(slot);
  }
  void become_lir(Slot slot, auto& cache) {
    state_[slot] = State::kLir;
    add_lir(slot, cache);
    while (lir_weight(cache) > max_lirs_) demote(cache);
  }
  // The lowest LIR block becomes a HIR block.
  void demote(auto& cache) {
    const Slot slot = stack_.back();
    leave_stack(slot, cache);
    subtract_lir(slot, cache);
    state_[slot] = State::kQueued;
    queue_.push_front(slot);
    prune(cache);
  }

  // Evict until a block fits that is not resident; return its slot, if it is a ghost.
  template <class View>
  Slot make_room(Slot slot, auto block, View& cache) {
    while (cache.is_full(*this)) {
      if constexpr (View::kWeighs) {
        if (queue_.empty()) demote(cache);
        evict(cache);
        slot = cache.find(block);  // a demotion may have dropped its ghost
      } else {
        evict(cache);
      }
    }
    return slot;
  }
  void evict(auto& cache) {
    const Slot victim = queue_.pop_back();
    if (state_[victim] == State::kStacked) {
      state_[victim] = State::kGhost;
      cache.evict_to_ghost(victim);
    } else {
      cache.evict(victim);
    }
  }

  // Remove blocks below the lowest LIR block of the stack.
  void prune(auto& cache) {
    while (!stack_.empty() && state_[stack_.back()] != State::kLir) drop(stack_.back(), cache);
  }
  void limit_stack(auto& cache) {
    while (stack_.weight(0, cache) > max_stack_) {
      while (lowest_hir_ != kNoSlot && state_[lowest_hir_] == State::kLir) {
        lowest_hir_ = stack_.newer(lowest_hir_);
      }
      if (lowest_hir_ == kNoSlot) return;  // LIR objects grew
      drop(lowest_hir_, cache);
    }
  }
  // Remove a HIR block from the stack.
  void drop(Slot slot, auto& cache) {
    leave_stack(slot, cache);
    if (state_[slot] == State::kGhost) {
      cache.forget(slot);
    } else {
      state_[slot] = State::kQueued;
    }
  }

  void push_top(Slot slot, const auto& cache) {
    stack_.push_front(0, slot, cache);
    if (lowest_hir_ == kNoSlot) lowest_hir_ = slot;
  }
  void leave_stack(Slot slot, const auto& cache) {
    if (slot == lowest_hir_) lowest_hir_ = stack_.newer(slot);
    stack_.erase(slot, cache);
  }

  template <class View>
  Count lir_weight(const View&) const {
    if constexpr (View::kWeighs) return lir_bytes_;
    return lirs_;
  }
  template <class View>
  void add_lir(Slot slot, const View& cache) {
    ++lirs_;
    if constexpr (View::kWeighs) lir_bytes_ += cache.weight(slot);
  }
  template <class View>
  void subtract_lir(Slot slot, const View& cache) {
    --lirs_;
    if constexpr (View::kWeighs) lir_bytes_ -= cache.weight(slot);
  }

  Params params_;
  WeighedLists<1> stack_;  // S: the most recently accessed first
  SlotLists<> queue_;      // Q: the next victim last
  Pages<State> state_;
  Slot lowest_hir_ = kNoSlot;  // all blocks below it in the stack are LIR
  Slot last_ = kNoSlot;        // of the last access
  Count capacity_ = 0;
  Count lirs_ = 0;
  Count lir_bytes_ = 0;
  Count max_lirs_ = 0;
  Count max_stack_ = 0;
};

}  // namespace mcsim
