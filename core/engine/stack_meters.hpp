#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/engine/block_owners.hpp"
#include "core/engine/host_meters.hpp"
#include "core/engine/shared_tails.hpp"

namespace mcsim {

// Who shares space with whom.
enum class Sharing : std::uint8_t {
  kShared,     // one LRU stack for all VMs
  kApart,      // one per VM, and each keeps to its targets at any moment
  kContended,  // one per VM, and space that one does not use another may
};

// What is known of a replay when the loop that does it is compiled.
struct Way {
  Sharing sharing;
  Told told;

  constexpr bool shared() const { return sharing == Sharing::kShared; }
  constexpr bool by_tier() const { return told == Told::kTiers || told == Told::kAll; }
  // The VM's evictions are numbered in the log.
  constexpr bool marks() const {
    return told == Told::kGhosts || told == Told::kTails || told == Told::kAll;
  }
  constexpr bool tails() const { return told == Told::kTails || told == Told::kAll; }
  constexpr bool shared_tails() const { return tails() && shared(); }
};

// Tells meters what becomes of blocks whose tiers are stretches of stacks of a RecencyLog, of which
// the log knows most, where an access has been anyway:
//
//                       tail                        window               end
//   … evicted: marks …   | least recently used …     | since it began …   |
//
// What lies above a position was accessed in the window, which is counted when it is asked for;
// what came into a tier lies above where that began. What a VM has below another position is its
// tail: an access, an eviction or a departure moves that by one of its blocks at most, the next of
// the stack or, where VMs share one, of the VM (SharedTails). So is it with the tail of a tier. A
// victim is marked with the number of its VM's eviction, which is what an access that misses finds
// in place of a position: a ghost, if few came after it. When numbers are used up, those of ghosts
// are made small again. Of blocks that were hit meters have a byte. Most is held at a time where an
// access ends that brought a block in.
//
// Meters keep lists of ghosts by tier, but of the last; and of all in any stacks of more tiers than
// anybody has, for which it would be much code.
template <class Log>
class StackMeters final : public HostMeters::Uses {
 public:
  using Stack = typename Log::Stack;
  using Position = typename Log::Position;
  static constexpr std::size_t kTiers = Log::kTierCount;
  // What a VM holds, by tier.
  using Held = std::span<const Count>;

  // What VMs have of the host.
  class Stacks {
   public:
    virtual Stack& stack_of(VmId vm) = 0;
    virtual Held held_by(VmId vm) const = 0;

   protected:
    ~Stacks() = default;
  };

  StackMeters(Log& log, const BlockOwners& owners, Stacks& stacks)
      : log_(log), owners_(owners), stacks_(stacks) {}

  // Of stacks with more tiers meters are told everything.
  static constexpr std::size_t kMostTiers = 4;
  static constexpr bool lists(Way way) { return way.told == Told::kAll && kTiers > kMostTiers; }

  Told told() const { return told_; }
  static constexpr bool may_be(Told told) {
    return told == Told::kNothing || told == Told::kAll || kTiers <= kMostTiers;
  }

  // The marks that the log needs for these.
  static std::uint64_t marks_for(const HostMeters& meters, Sharing sharing) {
    const Way way{sharing, told_for(meters)};
    return way.marks() && !lists(way) ? meters.caches().back().marks() : 0;
  }
  // Before the first access, in stacks that have those marks.
  void attach(HostMeters& meters, Sharing sharing) {
    meters_ = &meters;
    told_ = told_for(meters);
    sharing_ = sharing;
    if (lists({sharing, told_})) return;
    meters.leave_lists(*this);
    caches_ = meters.caches();
    tail_ = last().tail();
    if (sharing == Sharing::kShared) {
      if (Way{sharing, told_}.tails()) {
        shared_ = {stacks_.stack_of(VmId(0)), owners_.count(), caches_.size()};
      }
      return;
    }
    for (std::size_t vm = 0; vm < owners_.count(); ++vm) {
      tails_.emplace_back().fill(stacks_.stack_of(VmId(vm)).begin);
    }
  }

  // The stack, in which the VM has a block, was squeezed: its blocks lie one after the other from
  // its begin on.
  template <Way kWay>
  [[gnu::noinline]] void squeezed(VmId vm, const Stack& stack) {
    if (!kWay.tails() || lists(kWay)) return;
    const auto tail_of = [&](Count held) { return static_cast<Position>(std::min(tail_, held)); };
    if constexpr (kWay.shared_tails() && kWay.by_tier()) {
      shared_.squeezed(stack, std::span(stack.boundary), log_, owners_,
                       [&](std::size_t k, VmId v) { return tail_of(stacks_.held_by(v)[k]); });
    } else if constexpr (kWay.shared_tails()) {
      shared_.squeezed(stack, std::span<const Position, 1>(&stack.begin, 1), log_, owners_,
                       [&](std::size_t, VmId v) { return tail_of(last().of(v).held); });
    } else if constexpr (kWay.by_tier()) {
      for (std::size_t k = 0; k < kTiers; ++k) {
        tails_[vm][k] = stack.boundary[k] + tail_of(stacks_.held_by(vm)[k]);
      }
    } else {
      tails_[vm][0] = stack.begin + tail_of(last().of(vm).held);
    }
  }
  // The VM's block is the first of the stack now, be it new there or not: before the rest is told.
  template <Way kWay>
  [[gnu::always_inline]] void appended(VmId vm, const Stack& stack) {
    if constexpr (kWay.shared_tails() && !lists(kWay)) shared_.appended(vm, stack.end - 1);
  }

  // The block is the first of its stack now, and was in the fastest tier before.
  template <Way kWay>
  [[gnu::always_inline]] void hit(VmId vm, BlockId id, Position was) {
    if constexpr (lists(kWay)) {
      list_access(vm, id, 0);
    } else if constexpr (kWay.told != Told::kNothing) {
      if (hit_in<kWay>(0, vm, id, was)) grow_tail<kWay>(0, vm);
    }
  }
  // Or in `found`, or in none. `held`, here and below: of the VM, as it is now.
  template <Way kWay>
  [[gnu::always_inline]] void brought_up(VmId vm, BlockId id, Position was, std::size_t found,
                                         Held held) {
    if constexpr (lists(kWay)) {
      list_access(vm, id, found);
    } else if constexpr (kWay.told != Told::kNothing) {
      if constexpr (!kWay.by_tier()) {
        if (found == kTiers) return bring_in<kWay>(vm, was);
        if (hit_in<kWay>(0, vm, id, was)) grow_tail<kWay>(0, vm);
      } else {
        if (found < kTiers && hit_in<kWay>(found, vm, id, was)) left_tail<kWay>(found, vm, held);
        if constexpr (kWay.told == Told::kAll) {
          missed_above(found, vm, id, was);
          entered_tail<kWay>(0, vm, held);
        }
      }
    }
  }
  // And what had to leave for it is gone.
  template <Way kWay>
  [[gnu::always_inline]] void settled(VmId vm) {
    if constexpr (kWay.told != Told::kNothing && !kWay.by_tier()) {
      CacheMeters::Vm& of = last().of(vm);
      of.reading.peak = std::max(of.reading.peak, of.held);
    }
  }
  // The same of a tier that a block came into.
  template <Way kWay>
  [[gnu::always_inline]] void settled_in(std::size_t tier, VmId vm, Held held) {
    if constexpr (kWay.by_tier() && !lists(kWay)) {
      Count& peak = caches_[tier].of(vm).reading.peak;
      peak = std::max(peak, held[tier]);
    }
  }
  // It was a victim of a tier, and went to the next or was the last of a stack.
  template <Way kWay>
  [[gnu::always_inline]] void demoted(VmId vm, const Stack& stack, BlockId id, std::size_t tier,
                                      Held held) {
    const bool is_last = tier + 1 == kTiers;
    if constexpr (lists(kWay)) {
      list_demotion(vm, id, tier);
      meters_->prefetch(log_.soon(stack, tier));
    } else if constexpr (kWay.told != Told::kNothing) {
      const Position was = stack.boundary[tier] - 1;
      if constexpr (kWay.marks()) {
        if (is_last) {
          last().mark(log_, vm, id);
        } else if (kWay.by_tier()) {
          caches_[tier].mark_in_list(vm, id);
        }
      }
      if constexpr (!kWay.by_tier()) {
        if (is_last) left<kWay>(vm, was);
      } else if constexpr (kWay.told == Told::kAll) {
        if (tail_had<kWay>(tier, vm, was)) left_tail<kWay>(tier, vm, held);
        if (!is_last) entered_tail<kWay>(tier + 1, vm, held);
      }
    }
  }
  // It left a tier, and not as a victim.
  template <Way kWay>
  [[gnu::always_inline]] void dropped(VmId vm, BlockId id, Position was, std::size_t tier,
                                      Held held) {
    if constexpr (lists(kWay)) {
      list_departure(vm, id, tier);
    } else if constexpr (kWay.told != Told::kNothing) {
      if constexpr (!kWay.by_tier()) {
        left<kWay>(vm, was);
      } else if constexpr (kWay.told == Told::kAll) {
        if (tail_had<kWay>(tier, vm, was)) left_tail<kWay>(tier, vm, held);
      }
    }
  }
  // It was asked for; none has it, and none may.
  template <Way kWay>
  void passed_by(VmId vm, BlockId id) {
    if constexpr (lists(kWay)) {
      meters_->access(vm, id, kTiers, false);
    } else if constexpr (kWay.marks()) {
      const Position was = log_.where(id);
      log_.mark(id, 0);
      kWay.by_tier() ? missed_above(kTiers, vm, id, was) : last().missed_again(vm, was);
    }
  }
  // It will be accessed.
  template <Way kWay>
  [[gnu::always_inline]] void ahead(BlockId id) const {
    if constexpr (lists(kWay)) {
      meters_->prefetch(id);
    } else if constexpr (kWay.told != Told::kNothing) {
      last().template prefetch_seen<kWay.told>(id);
      for (std::size_t k = 0; kWay.told == Told::kAll && k + 1 < kTiers; ++k) {
        caches_[k].prefetch_ghost(id);
      }
    }
  }
  // All that came was told.
  void settle() {
    if (meters_ != nullptr) meters_->settle();
  }

  void begin_window() override {
    if (sharing_ == Sharing::kShared) return Log::begin_window(stacks_.stack_of(VmId(0)));
    for (std::size_t vm = 0; vm < owners_.count(); ++vm) {
      Log::begin_window(stacks_.stack_of(VmId(vm)));
    }
  }
  void count() override {
    for (std::size_t vm = 0; vm < owners_.count(); ++vm) count(VmId(vm));
    if (sharing_ == Sharing::kShared) count_shared();
  }

 private:
  // Of a VM that has a stack of its own, where they end: of each tier, or of all together the
  // first.
  using Tails = std::array<Position, kTiers>;
  template <Way kWay>
  static constexpr std::size_t kCaches = kWay.by_tier() ? kTiers : 1;

  static Told told_for(const HostMeters& meters) {
    return kTiers > kMostTiers ? Told::kAll : meters.told();
  }
  // Of all tiers together, or of the last: what leaves that leaves the stack.
  CacheMeters& last() const { return caches_.back(); }

  // Here and below, of all tiers together the number is 0. Whether it was in the tail.
  template <Way kWay>
  [[gnu::always_inline]] bool hit_in(std::size_t tier, VmId vm, BlockId id, Position was) {
    CacheMeters& meters = caches_[tier];
    meters.hit_block<kWay.told>(vm, id);
    if (!kWay.tails() || !tail_had<kWay>(tier, vm, was)) return false;
    ++meters.of(vm).reading.tail_hits;
    return true;
  }
  template <Way kWay>
  [[gnu::always_inline]] bool tail_had(std::size_t tier, VmId vm, Position was) {
    if constexpr (kWay.shared()) {
      return shared_.template had<kCaches<kWay>>(tier, vm, was);
    } else {
      return was < tails_[vm][tier];
    }
  }
  template <Way kWay>
  [[gnu::always_inline]] void grow_tail(std::size_t tier, VmId vm) {
    if constexpr (kWay.shared()) {
      shared_.template grow<kCaches<kWay>>(tier, vm, log_);
    } else {
      Position& end = tails_[vm][tier];
      end = log_.after_next(end);
    }
  }

  // Of all tiers together.
  template <Way kWay>
  [[gnu::always_inline]] void bring_in(VmId vm, Position was) {
    CacheMeters::Vm& of = last().of(vm);
    ++of.held;
    if constexpr (kWay.marks()) last().missed_again(vm, was);
    if constexpr (kWay.tails()) {
      if (of.held <= tail_) grow_tail<kWay>(0, vm);
    }
  }
  template <Way kWay>
  [[gnu::always_inline]] void left(VmId vm, Position was) {
    CacheMeters::Vm& of = last().of(vm);
    --of.held;
    if constexpr (kWay.tails()) {
      if (tail_had<kWay>(0, vm, was) && of.held >= tail_) grow_tail<kWay>(0, vm);
    }
  }

  // Of each tier.
  template <Way kWay>
  void left_tail(std::size_t tier, VmId vm, Held held) {
    if (held[tier] >= tail_) grow_tail<kWay>(tier, vm);
  }
  template <Way kWay>
  void entered_tail(std::size_t tier, VmId vm, Held held) {
    if (held[tier] <= tail_) grow_tail<kWay>(tier, vm);
  }
  // Those above the one that had it were asked in vain; `was`: its mark, if that is none.
  [[gnu::always_inline]] void missed_above(std::size_t found, VmId vm, BlockId id, Position was) {
    for (std::size_t k = 0; k < found && k + 1 < kTiers; ++k) caches_[k].missed_in_list(vm, id);
    if (found == kTiers) last().missed_again(vm, was);
  }

  // Of who has lists, which is much code: not for each loop.
  [[gnu::noinline]] void list_access(VmId vm, BlockId id, std::size_t found) {
    meters_->access(vm, id, found, true);
    if (found == 0) return;
    if (found < kTiers) meters_->left_from(found, vm, id);
    meters_->came_in(0, vm, id);
  }
  [[gnu::noinline]] void list_demotion(VmId vm, BlockId id, std::size_t tier) {
    meters_->evicted_from(tier, vm, id);
    tier + 1 == kTiers ? meters_->evicted(vm, id) : meters_->came_in(tier + 1, vm, id);
  }
  [[gnu::noinline]] void list_departure(VmId vm, BlockId id, std::size_t tier) {
    meters_->left(vm, id);
    meters_->left_from(tier, vm, id);
  }

  // Of a tier, or of all.
  typename Log::Stretch used_in(const Stack& stack, std::size_t tier) const {
    return meters_->by_tier() ? Log::came_in(stack, tier) : Log::accessed(stack);
  }
  void count(VmId vm) {
    const bool shared = sharing_ == Sharing::kShared;
    const Stack& stack = stacks_.stack_of(vm);
    for (std::size_t k = 0; k < caches_.size(); ++k) {
      CacheMeters::Vm& of = caches_[k].of(vm);
      if (meters_->by_tier()) of.held = stacks_.held_by(vm)[k];
      of.reading.touched = shared ? 0 : log_.count(used_in(stack, k));
    }
  }
  void count_shared() {
    for (std::size_t k = 0; k < caches_.size(); ++k) {
      log_.visit(used_in(stacks_.stack_of(VmId(0)), k),
                 [&](BlockId id) { ++caches_[k].of(owners_.vm_of(id)).reading.touched; });
    }
  }

  Log& log_;
  const BlockOwners& owners_;
  Stacks& stacks_;
  Told told_ = Told::kNothing;
  Sharing sharing_ = Sharing::kShared;
  HostMeters* meters_ = nullptr;
  std::span<CacheMeters> caches_;  // of these
  Count tail_ = 0;
  std::vector<Tails> tails_;  // by VM, where they have stacks of their own
  SharedTails<Log> shared_;   // or share one
};

}  // namespace mcsim
