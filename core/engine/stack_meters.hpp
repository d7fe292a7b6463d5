#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

constexpr bool has_marks(Told told) { return told == Told::kGhosts || told == Told::kTails; }
constexpr bool has_tiers(Told told) { return told == Told::kTiers || told == Told::kAll; }

// What is known of a replay when the loop that does it is compiled.
struct Way {
  Sharing sharing;
  Told told;

  constexpr bool shared() const { return sharing == Sharing::kShared; }
  // Of all tiers together.
  constexpr bool counts() const { return told != Told::kNothing && !has_tiers(told); }
  constexpr bool marks() const { return has_marks(told); }
  constexpr bool tails() const { return told == Told::kTails; }
  constexpr bool shared_tails() const { return tails() && shared(); }
};

// Tells meters what becomes of blocks whose tiers are stretches of stacks of a RecencyLog, of which
// the log knows most, where an access has been anyway:
//
//                       tail                        window               end
//   … evicted: marks …   | least recently used …     | since it began …   |
//
// What lies above a position was accessed in the window. What a VM has below another is its tail:
// an access, an eviction or a departure moves that by one of its blocks at most, the next of the
// stack or, where VMs share one, of the VM (SharedTails). A victim is marked with the number of its
// VM's eviction, which is what an access that misses finds in place of a position: a ghost, if few
// came after it. When numbers are used up, those of ghosts are made small again. Of blocks that
// were hit meters have a byte. Most is held at a time where an access ends that brought a block in.
//
// Readings by tier are of what each tier has, whatever the stacks: meters keep lists for them. So
// they do for stacks of more tiers than anybody has, for which it would be much code.
template <class Log>
class StackMeters {
 public:
  using Stack = typename Log::Stack;
  using Position = typename Log::Position;

  StackMeters(Log& log, const BlockOwners& owners) : log_(log), owners_(owners) {}

  // Of stacks with more tiers meters are told everything.
  static constexpr int kMostTiers = 4;

  Told told() const { return told_; }

  // The marks that the log needs for these.
  static std::uint64_t marks_for(const HostMeters& meters) {
    return has_marks(told_for(meters)) ? meters.whole().marks() : 0;
  }
  // Before the first access. `shared`: the stack that all VMs have, if they have not one each.
  void attach(HostMeters& meters, const Stack* shared) {
    meters_ = &meters;
    told_ = told_for(meters);
    if (has_tiers(told_)) return;
    meters.whole().leave_lists();
    cuts_.resize(shared != nullptr ? 1 : owners_.count());
    if (shared != nullptr && told_ == Told::kTails) shared_ = {*shared, owners_.count()};
    windows_ = kNoWindow;
  }
  // Before anything that is told from now on: the window may be a new one. `stack_of`: by number.
  template <class StackOf>
  void look_up(StackOf stack_of) {
    if (told_ == Told::kNothing || has_tiers(told_)) return;
    if (windows_ == meters_->whole().windows()) return;
    for (std::size_t s = 0; s < cuts_.size(); ++s) {
      cuts_[s].window = stack_of(s).end;
      if (windows_ == kNoWindow) cuts_[s].tail = stack_of(s).end;
    }
    windows_ = meters_->whole().windows();
  }

  // The stack, in which the VM has a block, was squeezed: its blocks lie one after the other from
  // its begin on.
  template <Way kWay>
  [[gnu::noinline]] void squeezed(VmId vm, const Stack& stack) {
    CacheMeters& meters = meters_->whole();
    Count since = meters.of(vm).reading.touched;
    for (std::size_t v = 0; kWay.shared() && v < owners_.count(); ++v) {
      since += v == vm ? 0 : meters.of(VmId(v)).reading.touched;
    }
    cuts<kWay>(vm).window = stack.end - static_cast<Position>(since);
    const auto tail_of = [&](VmId v) { return std::min(meters.tail(), meters.of(v).held); };
    if constexpr (kWay.shared_tails()) {
      shared_.squeezed(stack, log_, owners_, tail_of);
    } else {
      cuts<kWay>(vm).tail = stack.begin + static_cast<Position>(tail_of(vm));
    }
  }
  // The VM's block is the first of the stack now, be it new there or not: before the rest is told.
  template <Way kWay>
  [[gnu::always_inline]] void appended(VmId vm, const Stack& stack) {
    if constexpr (kWay.shared_tails()) shared_.appended(vm, stack.end - 1);
  }

  // The block is the first of its stack now, and was there before: in the fastest tier.
  template <Way kWay>
  [[gnu::always_inline]] void hit(VmId vm, BlockId id, Position was) {
    if constexpr (has_tiers(kWay.told)) {
      meters_->access<kWay.told>(vm, id, 0, true);
    } else if constexpr (kWay.counts()) {
      CacheMeters& meters = meters_->whole();
      HostReading& reading = meters.of(vm).reading;
      meters.hit_block(vm, id);
      reading.touched += was < cuts<kWay>(vm).window ? 1 : 0;
      if constexpr (kWay.tails()) {
        if (!tail_had<kWay>(vm, was)) return;
        ++reading.tail_hits;
        grow_tail<kWay>(vm);
      }
    }
  }
  // Or in `found`, of so many tiers; or in none.
  template <Way kWay>
  [[gnu::always_inline]] void brought_up(VmId vm, BlockId id, Position was, std::size_t found,
                                         std::size_t tiers) {
    if constexpr (has_tiers(kWay.told)) {
      meters_->access<kWay.told>(vm, id, found, true);
      if (found < tiers) meters_->left_from<kWay.told>(found, vm, id);
      meters_->came_in<kWay.told>(0, vm, id);
    } else if constexpr (kWay.counts()) {
      if (found < tiers) return hit<kWay>(vm, id, was);
      CacheMeters& meters = meters_->whole();
      CacheMeters::Vm& of = meters.of(vm);
      ++of.held;
      ++of.reading.touched;
      if constexpr (kWay.marks()) meters.missed_again(vm, was);
      if constexpr (kWay.tails()) {
        if (of.held <= meters.tail()) grow_tail<kWay>(vm);
      }
    }
  }
  // And what had to leave for it is gone.
  template <Way kWay>
  [[gnu::always_inline]] void settled(VmId vm) {
    if constexpr (kWay.counts()) {
      CacheMeters::Vm& of = meters_->whole().of(vm);
      of.reading.peak = std::max(of.reading.peak, of.held);
    }
  }
  // It was a victim of a tier, of so many, and was the last of a stack.
  template <Way kWay>
  [[gnu::always_inline]] void demoted(VmId vm, const Stack& stack, BlockId id, std::size_t tier,
                                      std::size_t tiers) {
    const bool last = tier + 1 == tiers;
    if constexpr (has_tiers(kWay.told)) {
      meters_->evicted_from<kWay.told>(tier, vm, id);
      last ? meters_->evicted<kWay.told>(vm, id) : meters_->came_in<kWay.told>(tier + 1, vm, id);
      meters_->prefetch<kWay.told>(log_.soon(stack, tier));
    } else if constexpr (kWay.counts()) {
      if (!last) return;
      if constexpr (kWay.marks()) meters_->whole().mark(log_, vm, id);
      left<kWay>(vm, stack.boundary[tier] - 1);
    }
  }
  // It left a tier, and not as a victim.
  template <Way kWay>
  [[gnu::always_inline]] void dropped(VmId vm, BlockId id, Position was, std::size_t tier) {
    if constexpr (has_tiers(kWay.told)) {
      meters_->left<kWay.told>(vm, id);
      meters_->left_from<kWay.told>(tier, vm, id);
    } else if constexpr (kWay.counts()) {
      left<kWay>(vm, was);
    }
  }
  // It was asked for; none of so many tiers has it, and none may.
  template <Way kWay>
  void passed_by(VmId vm, BlockId id, std::size_t tiers) {
    if constexpr (has_tiers(kWay.told)) {
      meters_->access<kWay.told>(vm, id, tiers, false);
    } else if constexpr (kWay.marks()) {
      meters_->whole().missed_again(vm, log_.where(id));
      log_.mark(id, 0);
    }
  }
  // It will be accessed.
  template <Way kWay>
  [[gnu::always_inline]] void ahead(BlockId id) const {
    if constexpr (has_tiers(kWay.told)) {
      meters_->prefetch<kWay.told>(id);
    } else if constexpr (kWay.counts()) {
      meters_->whole().prefetch_seen(id);
    }
  }
  // All that came was told.
  void settle() {
    if (has_tiers(told_)) meters_->settle();
  }

 private:
  // Of a stack; the end of the tail of one that is a VM's own.
  struct Cuts {
    Position window = 0;
    Position tail = 0;
  };
  static constexpr std::uint64_t kNoWindow = ~std::uint64_t{0};

  static Told told_for(const HostMeters& meters) {
    return Log::kTierCount > kMostTiers ? Told::kAll : meters.told();
  }

  template <Way kWay>
  Cuts& cuts(VmId vm) {
    return cuts_[kWay.shared() ? VmId(0) : vm];
  }
  template <Way kWay>
  [[gnu::always_inline]] bool tail_had(VmId vm, Position was) {
    return kWay.shared() ? shared_.had(vm, was) : was < cuts_[vm].tail;
  }
  template <Way kWay>
  [[gnu::always_inline]] void grow_tail(VmId vm) {
    if constexpr (kWay.shared()) {
      shared_.grow(vm, log_);
    } else {
      cuts_[vm].tail = log_.after_next(cuts_[vm].tail);
    }
  }
  template <Way kWay>
  [[gnu::always_inline]] void left(VmId vm, Position was) {
    CacheMeters& meters = meters_->whole();
    CacheMeters::Vm& of = meters.of(vm);
    --of.held;
    of.reading.touched -= was >= cuts<kWay>(vm).window ? 1 : 0;
    if constexpr (kWay.tails()) {
      if (tail_had<kWay>(vm, was) && of.held >= meters.tail()) grow_tail<kWay>(vm);
    }
  }

  Log& log_;
  const BlockOwners& owners_;
  Told told_ = Told::kNothing;
  HostMeters* meters_ = nullptr;
  std::vector<Cuts> cuts_;   // by stack
  SharedTails<Log> shared_;  // by VM, where they share one
  std::uint64_t windows_ = kNoWindow;
};

}  // namespace mcsim
