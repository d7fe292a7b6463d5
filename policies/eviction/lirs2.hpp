#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/share.hpp"
#include "core/containers/slot_lists.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// LIRS2: LIRS with the sum of the last two reuse distances of a block in place of the last one. The
// stack S has two instances of a block, its last and its second last access. A block becomes LIR if
// its second last access, before this one, is in S; the LIR block whose second last access is
// lowest in S then becomes HIR. S ends at that access of the lowest LIR block. Victims come from
// the queue Q of resident HIR blocks.
//
// As in the authors' program, a new block has two instances, but the second one does not make it
// LIR; and an immediate repetition is a hit that changes nothing. If S is over its limit, it loses
// its lowest instance of a HIR block. A LIR block that becomes HIR loses its last access, too, if
// younger instances were lost so. Whenever there is space among the LIR blocks, a block that misses
// becomes LIR.
//
// O(1) per access, amortised; 26 bytes per slot, nine slots per block of the capacity.
class Lirs2 {
 public:
  struct Params {
    double hirs = 0.01;
    double stack = 8;
    static constexpr auto fields() {
      return std::tuple{
          Field{"hirs", &Params::hirs, "share of the cache for resident HIR blocks, at least 4", 0,
                1},
          Field{"stack", &Params::stack,
                "maximum number of instances in the stack S, as a multiple of the capacity", 2}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "lirs2",
      .summary =
          "Keeps blocks with a small sum of the distances between their last three accesses.",
      .reference =
          "Zhong, Zhao, Jiang: LIRS2: An improved LIRS replacement algorithm, SYSTOR 2021; "
          "the authors' program"};

  Lirs2(const Params& params, const PolicySetup& setup)
      : params_(params),
        queue_(setup.slots_for(most_slots(setup.capacity))),
        stack_(2 * queue_.slots()),
        kinds_(queue_.slots()),
        marks_(queue_.slots()) {
    set_capacity(setup.capacity);
  }

  bool access(const auto& a, auto& cache) {
    Slot slot = cache.find(a.block);
    const bool hit = slot != kNoSlot && resident(slot);
    if (hit && slot == last_) return true;
    if (!hit && size() == capacity_) evict(cache);
    const bool enters_lirs = !hit && lirs_ < max_lirs_;
    const bool is_near = slot != kNoSlot && (marks_[slot] & (kHasSecond | kOnlyOne)) == kHasSecond;
    if (slot == kNoSlot) {
      slot = cache.insert(a.block);
      enter_stack(slot);
    } else {
      if (!hit) cache.revive(slot);
      if (kinds_[slot] == Kind::kHir) queue_.erase(slot);
      renew(slot);
    }
    if (!hit || kinds_[slot] != Kind::kLir) classify(slot, is_near || enters_lirs, cache);
    last_ = slot;
    prune(cache);
    limit_stack(cache);
    return hit;
  }

  void remove(Slot slot, auto& cache) {
    if (kinds_[slot] == Kind::kLir) {
      --lirs_;
    } else {
      queue_.erase(slot);
    }
    if (marks_[slot] & kHasLast) unlink(last_instance(slot));
    if (marks_[slot] & kHasSecond) unlink(second_instance(slot));
    cache.forget(slot);
    prune(cache);
  }

  void resize(Count capacity, auto& cache) {
    set_capacity(capacity);
    while (lirs_ > max_lirs_) demote(cache);
    while (size() > capacity_) evict(cache);
    prune(cache);
    limit_stack(cache);
    const std::size_t slots = cache.slots_for(most_slots(capacity_));
    if (slots <= this->slots()) return;
    queue_.reserve(slots);
    stack_.reserve(2 * slots);
    kinds_.extend(slots);
    marks_.extend(slots);
  }

  bool resident(Slot slot) const { return kinds_[slot] != Kind::kGhost; }
  Count size() const { return lirs_ + queue_.size(); }
  Count capacity() const { return capacity_; }
  std::size_t slots() const { return queue_.slots(); }
  void prefetch(Slot slot) const {
    stack_.prefetch(2 * slot);
    prefetch_line(&kinds_[slot]);
    prefetch_line(&marks_[slot]);
  }
  absl::Status check() const {
    MCSIM_RETURN_IF_ERROR(stack_.check());
    MCSIM_RETURN_IF_ERROR(queue_.check());
    if (lirs_ > max_lirs_ || stack_.size() > max_stack_ ||
        (!stack_.empty() && !ends_stack(stack_.back()))) {
      return internal_error("lirs2: {} LIR blocks of {}, {} of {} instances in the stack", lirs_,
                            max_lirs_, stack_.size(), max_stack_);
    }
    return absl::OkStatus();
  }
  std::size_t bytes() const {
    return stack_.bytes() + queue_.bytes() + kinds_.size() + marks_.size();
  }
  auto state() { return std::tie(queue_, stack_, kinds_, marks_, lowest_hir_, last_, lirs_); }

 private:
  enum class Kind : std::uint8_t { kLir, kHir, kGhost };
  // kOdd: the last access of the block is its odd instance. kHasLast, kHasSecond: the last and the
  // second last access are in the stack. kPassed: the last one is below `lowest_hir_`. kOnlyOne:
  // the second one is no access.
  enum Marks : std::uint8_t { kOdd = 1, kHasLast = 2, kHasSecond = 4, kPassed = 8, kOnlyOne = 16 };
  using Instance = Slot;

  Count most_stacked(Count capacity) const { return floor_share(params_.stack, capacity); }
  // Two instances of the new block enter the stack before the limit is enforced.
  Count most_slots(Count capacity) const { return most_stacked(capacity) + capacity + 2; }

  void set_capacity(Count capacity) {
    capacity_ = capacity;
    const Count hirs = std::max<Count>(4, floor_share(params_.hirs, capacity));
    max_lirs_ = std::max<Count>(0, capacity - std::min(hirs, std::max<Count>(1, capacity - 1)));
    max_stack_ = most_stacked(capacity);
  }

  Instance last_instance(Slot slot) const { return 2 * slot + (marks_[slot] & kOdd); }
  Instance second_instance(Slot slot) const { return last_instance(slot) ^ 1; }
  static Slot slot_of(Instance instance) { return instance / 2; }
  bool is_second(Instance instance) const { return instance == second_instance(slot_of(instance)); }
  bool ends_stack(Instance instance) const {
    return kinds_[slot_of(instance)] == Kind::kLir && is_second(instance);
  }

  // The first access to a block counts as two.
  void enter_stack(Slot slot) {
    marks_[slot] = kHasLast | kHasSecond | kOnlyOne;
    push_top(second_instance(slot));
    push_top(last_instance(slot));
  }
  // The last access becomes the second last one, and this one the last.
  void renew(Slot slot) {
    if (marks_[slot] & kHasSecond) unlink(second_instance(slot));
    const bool has_second = marks_[slot] & kHasLast;
    const int odd = ~marks_[slot] & kOdd;
    marks_[slot] = static_cast<std::uint8_t>(odd | kHasLast | (has_second ? kHasSecond : 0));
    push_top(last_instance(slot));
  }

  void classify(Slot slot, bool becomes_lir, auto& cache) {
    if (becomes_lir) {
      kinds_[slot] = Kind::kLir;
      ++lirs_;
      if (lirs_ > max_lirs_) demote(cache);
    } else {
      kinds_[slot] = Kind::kHir;
      queue_.push_front(slot);
    }
  }
  // The lowest LIR block becomes a HIR block.
  void demote(auto& cache) {
    const Slot slot = slot_of(stack_.back());
    --lirs_;
    kinds_[slot] = Kind::kHir;
    queue_.push_front(slot);
    if (marks_[slot] & kPassed) drop(last_instance(slot), cache);
    prune(cache);
  }
  void evict(auto& cache) {
    const Slot victim = queue_.pop_back();
    if (marks_[victim] & (kHasLast | kHasSecond)) {
      kinds_[victim] = Kind::kGhost;
      cache.evict_to_ghost(victim);
    } else {
      cache.evict(victim);
    }
  }

  // Remove instances below the second last access of the lowest LIR block.
  void prune(auto& cache) {
    while (!stack_.empty() && !ends_stack(stack_.back())) drop(stack_.back(), cache);
  }
  void limit_stack(auto& cache) {
    while (stack_.size() > max_stack_) {
      while (kinds_[slot_of(lowest_hir_)] == Kind::kLir) {
        if (!is_second(lowest_hir_)) marks_[slot_of(lowest_hir_)] |= kPassed;
        lowest_hir_ = stack_.newer(lowest_hir_);
      }
      drop(lowest_hir_, cache);
    }
  }
  // Remove an instance of a HIR block or of a ghost.
  void drop(Instance instance, auto& cache) {
    const Slot slot = slot_of(instance);
    unlink(instance);
    marks_[slot] &=
        static_cast<std::uint8_t>(is_second(instance) ? ~kHasSecond : ~(kHasLast | kPassed));
    const bool is_unknown = !(marks_[slot] & (kHasLast | kHasSecond));
    if (is_unknown && kinds_[slot] == Kind::kGhost) cache.forget(slot);
  }

  void push_top(Instance instance) {
    stack_.push_front(instance);
    if (lowest_hir_ == kNoSlot) lowest_hir_ = instance;
  }
  void unlink(Instance instance) {
    if (instance == lowest_hir_) lowest_hir_ = stack_.newer(instance);
    stack_.erase(instance);
  }

  Params params_;
  SlotLists<> queue_;  // Q: the next victim last
  SlotLists<> stack_;  // S, of instances: the most recent access first
  Pages<Kind> kinds_;
  Pages<std::uint8_t> marks_;
  Instance lowest_hir_ = kNoSlot;  // all instances below it are of LIR blocks
  Slot last_ = kNoSlot;            // of the last access
  Count capacity_ = 0;
  Count lirs_ = 0;
  Count max_lirs_ = 0;
  Count max_stack_ = 0;
};

}  // namespace mcsim
