#include "core/engine/copy_chain.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mcsim {
namespace {

// How many accesses ahead of the replay memory is asked for.
constexpr std::size_t kAhead = 24;

// What becomes of the requests of a VM: reads, or writes in one of the modes; or what the host
// says.
enum class Use : std::uint8_t { kRead, kThrough, kBack, kAround, kElse };

constexpr Use use_of(WriteBook::Way way) { return static_cast<Use>(1 + static_cast<int>(way)); }
static_assert(use_of(WriteBook::Way::kByTier) == Use::kElse);

}  // namespace

CopyChain::CopyChain(Chain chain, std::span<Tier> tiers, const SlotTable& table,
                     std::span<const std::size_t> part_of, const BlockOwners& owners,
                     const Gate& gate, WriteBook& book, Rest& rest)
    : chain_(chain),
      tiers_(tiers),
      table_(table),
      part_of_(part_of),
      owners_(owners),
      gate_(gate),
      book_(book),
      rest_(rest) {
  std::vector<std::size_t> vms(std::ranges::max(part_of) + 1);
  for (const std::size_t part : part_of) ++vms[part];
  for (const std::size_t part : part_of) alone_.push_back(vms[part] == 1 ? 1 : 0);
}

// The number of tiers stands for none of them, and for the backend.
template <Chain kChain, std::size_t kTiers, Told kTold>
class CopyChain::Loop {
 public:
  Loop(CopyChain& chain, std::span<VmCounters> counters, std::span<Found> found)
      : table_(chain.table_),
        part_of_(chain.part_of_),
        alone_(chain.alone_),
        owners_(chain.owners_),
        gate_(chain.gate_),
        book_(chain.book_),
        rest_(chain.rest_),
        meters_(chain.meters_),
        counters_(counters),
        found_(found) {
    for (std::size_t k = 0; k < kTiers; ++k) tiers_[k] = &chain.tiers_[k];
  }

  void replay(const Accesses& trace, RequestRange range) {
    const std::span<const BlockId> ids(trace.ids);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const RequestRange blocks{trace.request_begin[r], trace.request_begin[r + 1]};
      if (blocks.begin == blocks.end) continue;
      const Vm vm = vm_of(trace.request_vm[r]);
      switch (gate_.shut(vm.id) ? Use::kElse : use(vm.id, trace.request_op[r])) {
        case Use::kRead:
          serve<Use::kRead>(vm, ids, blocks);
          break;
        case Use::kThrough:
          serve<Use::kThrough>(vm, ids, blocks);
          break;
        case Use::kBack:
          serve<Use::kBack>(vm, ids, blocks);
          break;
        case Use::kAround:
          serve<Use::kAround>(vm, ids, blocks);
          break;
        case Use::kElse:
          rest_.serve_singly(trace, r);
          break;
      }
    }
  }

 private:
  static constexpr bool kMetered = kTold != Told::kNothing;
  // Whether meters have asked tiers, each of which then has as many columns as they need.
  static constexpr bool kAsked = kTold == Told::kOrdered;
  static constexpr std::size_t kColumns = kAsked ? CacheMeters::kColumns : 1;

  // What is looked up of a VM once a request.
  struct Vm {
    VmId id;
    std::size_t part;
    bool alone;  // in its part
    VmCounters& counts;
    TierCounters* tiers;
  };
  // Which tier had the block; and the fastest and the slowest of those that have its data now
  // because of the access.
  struct Outcome {
    std::size_t found;
    std::size_t top;
    std::size_t low;
  };

  Use use(VmId vm, std::uint8_t op) const { return op == 0 ? Use::kRead : use_of(book_.way(vm)); }
  Vm vm_of(VmId id) {
    VmCounters& counts = counters_[id];
    return {id, part_of_[id], alone_[id] != 0, counts, counts.tiers.data()};
  }
  Tier& tier(std::size_t k) {
    tiers_[k]->assume_only_logs();
    return *tiers_[k];
  }
  HostMeters& meters() const { return *meters_; }
  // Whose columns, if they have any for all tiers together, come after those of tiers.
  static TableEntry for_meters(TableEntry block) { return block.beside(kAsked ? 0 : kTiers); }
  bool has_room(std::size_t k, const Vm& vm) { return tier(k).has_room(vm.part); }

  // Of blocks that are told by their rows, in which tiers have their columns one after the other.
  bool holds(std::size_t k, const Vm& vm, TableEntry block) {
    return tier(k).holds(vm.part, block.beside(kColumns * k));
  }
  [[gnu::always_inline]] bool touch(std::size_t k, const Vm& vm, TableEntry block) {
    return tier(k).template touch_in_log<kAsked>(vm.part, block.beside(kColumns * k));
  }
  bool take(std::size_t k, const Vm& vm, TableEntry block) {
    return tier(k).take(vm.part, block.beside(kColumns * k));
  }

  template <Use kUse>
  void serve(const Vm& vm, std::span<const BlockId> ids, RequestRange blocks) {
    constexpr Op kOp = kUse == Use::kRead ? Op::kRead : Op::kWrite;
    std::array<Count, kMaxTiers + 1>& found = found_[vm.id][static_cast<std::size_t>(kOp)];
    Served& served = vm.counts.served(kOp);
    std::size_t slowest = 0;
    for (std::size_t i = blocks.begin; i < blocks.end; ++i) {
      look_ahead(ids[std::min(i + kAhead, ids.size() - 1)]);
      const auto [had_it, served_by] = access<kUse>(vm, table_.row(ids[i]));
      ++found[had_it];
      ++served.blocks[served_by];
      slowest = std::max(slowest, served_by);
    }
    ++served.requests[slowest];
  }

  void look_ahead(BlockId block) const {
    table_.prefetch(block);
    look_ahead_beside(block);
  }
  // What is known of a block besides where it is.
  void look_ahead_beside(BlockId block) const {
    if (book_.dirty() > 0) book_.prefetch(block);
    if constexpr (kMetered) meters().template prefetch<kTold>(block);
  }

  // The tier that had the block, and what the VM waited for.
  template <Use kUse>
  [[gnu::always_inline]] std::pair<std::size_t, std::size_t> access(const Vm& vm,
                                                                    TableEntry block) {
    if constexpr (kUse == Use::kAround) {
      return {write_around(vm, block), kTiers};
    } else if constexpr (kUse == Use::kBack) {
      return write_back_into(vm, block);
    } else {
      const Outcome outcome = fetch(vm, block);
      if (kUse == Use::kRead) return {outcome.found, outcome.found};
      ++vm.counts.backend_writes;
      // Those that the block came into are faster.
      for (std::size_t k = 0; k < kTiers; ++k) {
        if (k >= outcome.found && holds(k, vm, block)) ++vm.tiers[k].updates;
      }
      return {outcome.found, kTiers};
    }
  }

  // From now on all copies are old, those too that are pushed down by what the block's coming in
  // sets off. The newest is above them, wherever that will be.
  [[gnu::always_inline]] std::pair<std::size_t, std::size_t> write_back_into(const Vm& vm,
                                                                             TableEntry block) {
    const bool was_clean = book_.mark(vm.id, block);
    const auto [found, top, low] = fetch(vm, block);
    if (top == kTiers) {
      if (was_clean) book_.unmark(vm.id, block);
      ++vm.counts.backend_writes;
      return {found, kTiers};
    }
    if (top == found) ++vm.tiers[top].updates;
    if (low > 0) book_.move(block, 0, low);
    while (book_.too_many()) [[unlikely]]
      write_back_oldest();
    return {found, top};
  }

  std::size_t write_around(const Vm& vm, TableEntry block) {
    const bool updates = book_.rules().update_around;
    if constexpr (kMetered) tell_around(vm, block, updates);
    std::size_t found = kTiers;
    for (std::size_t k = kTiers; k-- > 0;) {
      if (updates) {
        if (!touch(k, vm, block)) continue;
        ++vm.tiers[k].updates;
        if constexpr (kMetered) meters().template used<kTold>(k, vm.id, block);
      } else if (!invalidate(k, vm, block)) {
        continue;
      }
      found = k;
    }
    ++vm.counts.backend_writes;
    return found;
  }

  void tell_around(const Vm& vm, TableEntry block, bool updates) {
    const std::size_t fastest = fastest_with(vm, block);
    if (fastest == kTiers) return;
    if (kAsked) tier(fastest).logs().look(vm.part, block.beside(kColumns * fastest));
    meters().template around<kTold>(vm.id, for_meters(block), fastest, updates);
  }

  bool invalidate(std::size_t k, const Vm& vm, TableEntry block) {
    if (!take(k, vm, block)) return false;
    ++vm.tiers[k].invalidations;
    --vm.tiers[k].occupancy;
    if constexpr (kMetered) meters().template left_from<kTold>(k, vm.id, block);
    return true;
  }
  std::size_t fastest_with(const Vm& vm, TableEntry block) {
    std::size_t k = 0;
    while (k < kTiers && !holds(k, vm, block)) ++k;
    return k;
  }

  [[gnu::always_inline]] Outcome fetch(const Vm& vm, TableEntry block) {
    const std::size_t found = look(vm, block);
    if constexpr (kMetered) {
      meters().template access<kTold>(vm.id, for_meters(block), found,
                                      found < kTiers || may_come_in(vm));
    }
    Outcome outcome{found, found, found};
    if (found == 0) return outcome;
    if constexpr (kChain == Chain::kVictim) {
      outcome.top = outcome.low = enter_fastest(vm, block, found);
    } else {
      enter_all(vm, block, rooms(vm), outcome);
      // Victims of the faster tiers may have pushed it out of slower ones.
      while (outcome.low > outcome.top && !holds(outcome.low, vm, block)) --outcome.low;
    }
    return outcome;
  }

  // The fastest tier that has the block, which is used there.
  template <std::size_t kFrom = 0>
  [[gnu::always_inline]] std::size_t look(const Vm& vm, TableEntry block) {
    if constexpr (kFrom < kTiers) {
      return touch(kFrom, vm, block) ? kFrom : look<kFrom + 1>(vm, block);
    }
    return kTiers;
  }

  // Whether a block comes in that no tier has.
  bool may_come_in(const Vm& vm) {
    if (kChain == Chain::kInclusive) return has_room(kTiers - 1, vm);
    std::size_t k = 0;
    while (k < kTiers && !has_room(k, vm)) ++k;
    return k < kTiers;
  }

  // Where the block comes in that `found` had: into the fastest tier that has room, if there is one
  // above.
  template <std::size_t kTo = 0>
  [[gnu::always_inline]] std::size_t enter_fastest(const Vm& vm, TableEntry block,
                                                   std::size_t found) {
    if constexpr (kTo < kTiers) {
      if (kTo == found) return found;
      if (!has_room(kTo, vm)) return enter_fastest<kTo + 1>(vm, block, found);
      come_into<kTo>(vm, block, found);
      return kTo;
    }
    return kTiers;
  }

  // By tier, a bit each, whether it has room now: what comes into slower ones may make some.
  [[gnu::always_inline]] unsigned rooms(const Vm& vm) {
    unsigned rooms = 0;
    for (std::size_t k = 0; k < kTiers; ++k) rooms |= static_cast<unsigned>(has_room(k, vm)) << k;
    return rooms;
  }

  // Into all above, the slowest first. In an inclusive chain one without room keeps it from those
  // above.
  template <std::size_t kBelow = kTiers>
  [[gnu::always_inline]] void enter_all(const Vm& vm, TableEntry block, unsigned rooms,
                                        Outcome& outcome) {
    if constexpr (kBelow > 0) {
      constexpr std::size_t kTo = kBelow - 1;
      if (kTo < outcome.found) {
        if ((rooms >> kTo & 1) != 0) {
          come_into<kTo>(vm, block, outcome.found);
          if (outcome.top == outcome.found) outcome.low = kTo;
          outcome.top = kTo;
        } else if (kChain == Chain::kInclusive) {
          return;
        }
      }
      enter_all<kTo>(vm, block, rooms, outcome);
    }
  }

  template <std::size_t kTo>
  [[gnu::always_inline]] void come_into(const Vm& vm, TableEntry block, std::size_t found) {
    ++(found == kTiers ? vm.tiers[kTo].fills : vm.tiers[kTo].promotions);
    insert<kTo>(vm, block);
  }

  template <std::size_t kTo>
  [[gnu::always_inline]] void insert(const Vm& vm, TableEntry block) {
    ++vm.tiers[kTo].occupancy;
    if constexpr (kMetered) meters().template came_in<kTold>(kTo, vm.id, block);
    BlockId next = 0;
    const auto [victim, own] =
        tier(kTo).template insert_in_log<kAsked>(vm.part, block.beside(kColumns * kTo), &next);
    if (victim == kNoBlock) return;
    look_ahead_beside(next);
    if (vm.alone && own) return leave<kTo>(vm, table_.row(victim));
    leave<kTo>(vm_of(owners_.vm_of(victim)), table_.row(victim));
  }

  // A block was a victim of the tier: on to the next one, or out.
  template <std::size_t kFrom>
  void leave(const Vm& owner, TableEntry block) {
    TierCounters& left = owner.tiers[kFrom];
    --left.occupancy;
    if constexpr (kMetered) meters().template evicted_from<kTold>(kFrom, owner.id, block);
    if (kChain == Chain::kInclusive) drop_above(kFrom, owner, block);
    const bool newest = book_.dirty() > 0 && is_newest(kFrom, block);
    if (newest && book_.way(owner.id) == WriteBook::Way::kByTier) [[unlikely]] {
      if (!rest_.write_on(kFrom, owner.id, block)) return go(owner, left, block);
      ++left.moved_down;
      return;
    }
    if ((newest || kChain == Chain::kVictim) && push_down<kFrom>(owner, block, newest)) {
      ++left.moved_down;
      return;
    }
    if (newest) write_back(kFrom, owner, block);
    go(owner, left, block);
  }

  // A victim went no further than out of the tier; other tiers may have it.
  void go(const Vm& owner, TierCounters& left, TableEntry block) {
    ++left.evictions;
    if constexpr (kMetered && !kAsked) {
      if (fastest_with(owner, block) == kTiers)
        meters().template evicted<kTold>(owner.id, for_meters(block));
    }
  }

  void write_back(std::size_t from, const Vm& owner, TableEntry block) {
    for (std::size_t k = from + 1; k < kTiers; ++k) {
      if (holds(k, owner, block)) ++owner.tiers[k].updates;
    }
    book_.write_back(owner.id, block);
  }

  void write_back_oldest() {
    const BlockId block = book_.oldest();
    std::size_t newest = 0;
    while (!book_.dirty(block, newest)) ++newest;
    write_back(newest, vm_of(owners_.vm_of(block)), table_.row(block));
  }

  // Whether what leaves the tier is what the backend and all other tiers lack.
  bool is_newest(std::size_t from, BlockId block) {
    if (!book_.dirty(block, from)) return false;
    if (!book_.dirty_above(block, from)) return true;
    book_.outdate(block, from);
    return false;
  }

  // To the first of the slower tiers that has the block or room for it; false if none does.
  template <std::size_t kFrom, std::size_t kTo = kFrom + 1>
  [[gnu::always_inline]] bool push_down(const Vm& owner, TableEntry block, bool dirty) {
    if constexpr (kTo < kTiers) {
      const bool has_copy = touch(kTo, owner, block);
      if (!has_copy && !has_room(kTo, owner)) {
        return push_down<kFrom, kTo + 1>(owner, block, dirty);
      }
      if (dirty) book_.move(block, kFrom, kTo);
      if (kMetered && has_copy) meters().template used<kTold>(kTo, owner.id, block);
      if (has_copy) {
        owner.tiers[kTo].updates += dirty ? 1 : 0;
      } else {
        ++owner.tiers[kTo].demotions;
        insert<kTo>(owner, block);
      }
      return true;
    }
    return false;
  }

  // The copies above go with the one that leaves, and leave it what they have that is new.
  void drop_above(std::size_t below, const Vm& owner, TableEntry block) {
    for (std::size_t k = 0; k < below; ++k) {
      if (invalidate(k, owner, block) && book_.dirty(block, k)) book_.move(block, k, below);
    }
  }

  const SlotTable& table_;
  std::span<const std::size_t> part_of_;
  std::span<const std::uint8_t> alone_;
  const BlockOwners& owners_;
  const Gate& gate_;
  WriteBook& book_;
  Rest& rest_;
  HostMeters* meters_;  // if metered
  std::span<VmCounters> counters_;
  std::span<Found> found_;
  std::array<Tier*, kTiers> tiers_;
};

template <Chain kChain>
void CopyChain::replay_as(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                          std::span<Found> found) {
  const Told told = meters_ == nullptr ? Told::kNothing : meters_->told();
  const auto with_tiers = [&]<std::size_t kTiers>() {
    as_told(told, [&]<Told kTold>() {
      // By tier without an order is for who shares parts: not worth a loop.
      constexpr Told kAs = kTold == Told::kTiers ? Told::kAll : kTold;
      Loop<kChain, kTiers, kAs>(*this, counters, found).replay(trace, range);
    });
    return true;
  };
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    (void)((tiers_.size() == kIndex + 1 && with_tiers.template operator()<kIndex + 1>()) || ...);
  }(std::make_index_sequence<kMostTiers>{});
}

void CopyChain::replay(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                       std::span<Found> found) {
  switch (chain_) {
    case Chain::kExclusive:
      break;
    case Chain::kVictim:
      return replay_as<Chain::kVictim>(trace, range, counters, found);
    case Chain::kInclusive:
      return replay_as<Chain::kInclusive>(trace, range, counters, found);
    case Chain::kIndependent:
      return replay_as<Chain::kIndependent>(trace, range, counters, found);
  }
  __builtin_unreachable();
}

}  // namespace mcsim
