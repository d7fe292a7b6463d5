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
// Meters keep lists of ghosts by tier. Of all by tier they keep them where VMs share a stack and
// ghosts or tails are asked for, and of any stacks of more tiers than anybody has, for which it
// would be much code.
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
  static constexpr bool lists(Way way) {
    return way.told == Told::kAll && (way.shared() || kTiers > kMostTiers);
  }

  Told told() const { return told_; }
  static constexpr bool may_be(Told told) {
    return told == Told::kNothing || told == Told::kAll || kTiers <= kMostTiers;
  }

  // The marks that the log needs for these.
  static std::uint64_t marks_for(const HostMeters& meters, Sharing sharing) {
    const Way way{sharing, told_for(meters)};
    return way.marks() && !lists(way) ? meters.whole().marks() : 0;
  }
  // Before the first access, in stacks that have those marks.
  void attach(HostMeters& meters, Sharing sharing) {
    meters_ = &meters;
    told_ = told_for(meters);
    sharing_ = sharing;
    if (lists({sharing, told_})) return;
    meters.leave_lists(*this);
    if (sharing == Sharing::kShared) {
      if (told_ == Told::kTails) shared_ = {stacks_.stack_of(VmId(0)), owners_.count()};
      return;
    }
    for (std::size_t vm = 0; vm < owners_.count(); ++vm) {
      const Position begin = stacks_.stack_of(VmId(vm)).begin;
      tails_.push_back({.whole = begin, .tiers = {}});
      tails_.back().tiers.fill(begin);
    }
  }

  // The stack, in which the VM has a block, was squeezed: its blocks lie one after the other from
  // its begin on.
  template <Way kWay>
  [[gnu::noinline]] void squeezed(VmId vm, const Stack& stack) {
    if (!kWay.tails() || lists(kWay)) return;
    CacheMeters& meters = meters_->whole();
    const auto tail_of = [&](Count held) { return std::min(meters.tail(), held); };
    if constexpr (kWay.shared_tails()) {
      shared_.squeezed(stack, log_, owners_, [&](VmId v) { return tail_of(meters.of(v).held); });
    } else if constexpr (kWay.tails()) {
      Tails& tails = tails_[vm];
      tails.whole = stack.begin + static_cast<Position>(tail_of(meters.of(vm).held));
      for (std::size_t k = 0; k < kTiers; ++k) {
        const Count tail = tail_of(stacks_.held_by(vm)[k]);
        tails.tiers[k] = stack.boundary[k] + static_cast<Position>(tail);
      }
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
      hit_whole<kWay>(vm, id, was);
      if constexpr (kWay.by_tier()) {
        if (hit_in<kWay>(0, vm, id, was)) grow_tail(0, vm);
      }
    }
  }
  // Or in `found`, or in none. `held`, here and below: of the VM, as it is now.
  template <Way kWay>
  [[gnu::always_inline]] void brought_up(VmId vm, BlockId id, Position was, std::size_t found,
                                         Held held) {
    if constexpr (lists(kWay)) {
      list_access(vm, id, found);
    } else if constexpr (kWay.told != Told::kNothing) {
      if (found < kTiers) {
        hit_whole<kWay>(vm, id, was);
      } else {
        bring_in<kWay>(vm, was);
      }
      if constexpr (kWay.by_tier()) {
        if (found < kTiers && hit_in<kWay>(found, vm, id, was)) left_tail(found, vm, held);
        if constexpr (kWay.told == Told::kAll) {
          for (std::size_t k = 0; k < found; ++k) meters_->asked(k, vm, id, false);
          entered_tail(0, vm, held);
        }
      }
    }
  }
  // And what had to leave for it is gone.
  template <Way kWay>
  [[gnu::always_inline]] void settled(VmId vm) {
    if constexpr (kWay.told != Told::kNothing && !lists(kWay)) {
      CacheMeters::Vm& of = meters_->whole().of(vm);
      of.reading.peak = std::max(of.reading.peak, of.held);
    }
  }
  // The same of a tier that a block came into.
  template <Way kWay>
  [[gnu::always_inline]] void settled_in(std::size_t tier, VmId vm, Held held) {
    if constexpr (kWay.by_tier() && !lists(kWay)) {
      Count& peak = meters_->tier(tier).of(vm).reading.peak;
      peak = std::max(peak, held[tier]);
    }
  }
  // It was a victim of a tier, and went to the next or was the last of a stack.
  template <Way kWay>
  [[gnu::always_inline]] void demoted(VmId vm, const Stack& stack, BlockId id, std::size_t tier,
                                      Held held) {
    const bool last = tier + 1 == kTiers;
    if constexpr (lists(kWay)) {
      list_demotion(vm, id, tier);
      meters_->prefetch(log_.soon(stack, tier));
    } else if constexpr (kWay.told != Told::kNothing) {
      const Position was = stack.boundary[tier] - 1;
      if constexpr (kWay.told == Told::kAll) {
        meters_->tier(tier).mark_in_list(vm, id);
        if (was < tails_[vm].tiers[tier]) left_tail(tier, vm, held);
        if (!last) entered_tail(tier + 1, vm, held);
      }
      if (!last) return;
      if constexpr (kWay.marks()) meters_->whole().mark(log_, vm, id);
      left<kWay>(vm, was);
    }
  }
  // It left a tier, and not as a victim.
  template <Way kWay>
  [[gnu::always_inline]] void dropped(VmId vm, BlockId id, Position was, std::size_t tier,
                                      Held held) {
    if constexpr (lists(kWay)) {
      list_departure(vm, id, tier);
    } else if constexpr (kWay.told != Told::kNothing) {
      left<kWay>(vm, was);
      if constexpr (kWay.told == Told::kAll) {
        if (was < tails_[vm].tiers[tier]) left_tail(tier, vm, held);
      }
    }
  }
  // It was asked for; none has it, and none may.
  template <Way kWay>
  void passed_by(VmId vm, BlockId id) {
    if constexpr (lists(kWay)) {
      meters_->access(vm, id, kTiers, false);
    } else if constexpr (kWay.marks()) {
      meters_->whole().missed_again(vm, log_.where(id));
      log_.mark(id, 0);
      if constexpr (kWay.told == Told::kAll) {
        for (std::size_t k = 0; k < kTiers; ++k) meters_->asked(k, vm, id, false);
      }
    }
  }
  // It will be accessed.
  template <Way kWay>
  [[gnu::always_inline]] void ahead(BlockId id) const {
    if constexpr (lists(kWay)) {
      meters_->prefetch(id);
    } else if constexpr (kWay.told != Told::kNothing) {
      meters_->whole().prefetch_seen<kWay.told>(id);
      for (std::size_t k = 0; kWay.told == Told::kAll && k < kTiers; ++k) {
        meters_->tier(k).prefetch_ghost(id);
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
  // Of a VM that has a stack of its own, where they end: of all tiers together, and of each.
  struct Tails {
    Position whole;
    std::array<Position, kTiers> tiers;
  };

  static Told told_for(const HostMeters& meters) {
    return kTiers > kMostTiers ? Told::kAll : meters.told();
  }

  template <Way kWay>
  [[gnu::always_inline]] void hit_whole(VmId vm, BlockId id, Position was) {
    CacheMeters& meters = meters_->whole();
    meters.hit_block<kWay.told>(vm, id);
    if constexpr (kWay.tails()) {
      if (!tail_had<kWay>(vm, was)) return;
      ++meters.of(vm).reading.tail_hits;
      grow_tail<kWay>(vm);
    }
  }
  template <Way kWay>
  [[gnu::always_inline]] void bring_in(VmId vm, Position was) {
    CacheMeters& meters = meters_->whole();
    CacheMeters::Vm& of = meters.of(vm);
    ++of.held;
    if constexpr (kWay.marks()) meters.missed_again(vm, was);
    if constexpr (kWay.tails()) {
      if (of.held <= meters.tail()) grow_tail<kWay>(vm);
    }
  }
  template <Way kWay>
  [[gnu::always_inline]] void left(VmId vm, Position was) {
    CacheMeters& meters = meters_->whole();
    CacheMeters::Vm& of = meters.of(vm);
    --of.held;
    if constexpr (kWay.tails()) {
      if (tail_had<kWay>(vm, was) && of.held >= meters.tail()) grow_tail<kWay>(vm);
    }
  }

  template <Way kWay>
  [[gnu::always_inline]] bool tail_had(VmId vm, Position was) {
    return kWay.shared() ? shared_.had(vm, was) : was < tails_[vm].whole;
  }
  template <Way kWay>
  [[gnu::always_inline]] void grow_tail(VmId vm) {
    if constexpr (kWay.shared()) {
      shared_.grow(vm, log_);
    } else {
      tails_[vm].whole = log_.after_next(tails_[vm].whole);
    }
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

  // Whether it was in the tail of the tier.
  template <Way kWay>
  [[gnu::always_inline]] bool hit_in(std::size_t tier, VmId vm, BlockId id, Position was) {
    CacheMeters& meters = meters_->tier(tier);
    meters.hit_block<kWay.told>(vm, id);
    if (kWay.told != Told::kAll || was >= tails_[vm].tiers[tier]) return false;
    ++meters.of(vm).reading.tail_hits;
    return true;
  }
  void grow_tail(std::size_t tier, VmId vm) {
    Position& end = tails_[vm].tiers[tier];
    end = log_.after_next(end);
  }
  void left_tail(std::size_t tier, VmId vm, Held held) {
    if (held[tier] >= meters_->whole().tail()) grow_tail(tier, vm);
  }
  void entered_tail(std::size_t tier, VmId vm, Held held) {
    if (held[tier] <= meters_->whole().tail()) grow_tail(tier, vm);
  }

  void count(VmId vm) {
    const bool shared = sharing_ == Sharing::kShared;
    const Stack& stack = stacks_.stack_of(vm);
    meters_->whole().of(vm).reading.touched = shared ? 0 : log_.count(Log::accessed(stack));
    for (std::size_t k = 0; k < kTiers && meters_->by_tier(); ++k) {
      CacheMeters::Vm& of = meters_->tier(k).of(vm);
      of.held = stacks_.held_by(vm)[k];
      of.reading.touched = shared ? 0 : log_.count(Log::came_in(stack, k));
    }
  }
  void count_shared() {
    const Stack& stack = stacks_.stack_of(VmId(0));
    const auto touched_in = [&](CacheMeters& meters) {
      return [&](BlockId id) { ++meters.of(owners_.vm_of(id)).reading.touched; };
    };
    log_.visit(Log::accessed(stack), touched_in(meters_->whole()));
    for (std::size_t k = 0; k < kTiers && meters_->by_tier(); ++k) {
      log_.visit(Log::came_in(stack, k), touched_in(meters_->tier(k)));
    }
  }

  Log& log_;
  const BlockOwners& owners_;
  Stacks& stacks_;
  Told told_ = Told::kNothing;
  Sharing sharing_ = Sharing::kShared;
  HostMeters* meters_ = nullptr;
  std::vector<Tails> tails_;  // by VM, where they have stacks of their own
  SharedTails<Log> shared_;   // or share one
};

}  // namespace mcsim
