#include "core/engine/hosts/kernels/copy_chain.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/engine/hosts/request_counts.hpp"

namespace mcsim {
namespace {

// Prefetch distance in accesses.
constexpr std::size_t kAhead = 24;

// The kind of a request: a read, or a write in one of the modes. The slow path serves all others.
enum class Use : std::uint8_t { kRead, kThrough, kBack, kAround, kSlowPath };

constexpr Use use_of(EffectiveWriteMode mode) {
  return static_cast<Use>(1 + static_cast<int>(mode));
}
static_assert(use_of(EffectiveWriteMode::kByTier) == Use::kSlowPath);

}  // namespace

bool CopyChain::can_serve(const KernelSetup& setup) {
  return setup.chain != Chain::kExclusive && setup.tiers.size() >= kLeastTiers &&
         setup.tiers.size() <= kMostTiers && std::ranges::all_of(setup.tiers, &Tier::only_logs);
}

CopyChain::CopyChain(const KernelSetup& setup)
    : chain_(setup.chain),
      tiers_(setup.tiers),
      table_(setup.table),
      part_of_(setup.part_of),
      owners_(setup.owners),
      admission_(setup.admission),
      dirty_(setup.dirty),
      slow_path_(setup.slow_path) {
  std::vector<std::size_t> vms(std::ranges::max(part_of_) + 1);
  for (const std::size_t part : part_of_) ++vms[part];
  for (const std::size_t part : part_of_) alone_.push_back(vms[part] == 1 ? 1 : 0);
}

// Tier number kTiers means no tier, or the backend.
template <Chain kChain, std::size_t kTiers, bool kProbe>
class CopyChain::Loop {
 public:
  Loop(CopyChain& chain, std::span<VmCounters> counters, std::span<Found> found)
      : table_(chain.table_),
        part_of_(chain.part_of_),
        alone_(chain.alone_),
        owners_(chain.owners_),
        admission_(chain.admission_),
        dirty_(chain.dirty_),
        slow_path_(chain.slow_path_),
        probe_(chain.probe_),
        counters_(counters),
        found_(found) {
    for (std::size_t k = 0; k < kTiers; ++k) tiers_[k] = &chain.tiers_[k];
  }

  [[gnu::noinline]] void replay_range(const Accesses& trace, RequestRange range) {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      if (trace.request_begin[r] == trace.request_begin[r + 1]) continue;
      const Vm vm = vm_of(trace.request_vm[r]);
      switch (admission_.is_blocked(vm.id) ? Use::kSlowPath : use(vm.id, trace.request_op[r])) {
        case Use::kRead:
          serve<Use::kRead>(vm, trace, r);
          break;
        case Use::kThrough:
          serve<Use::kThrough>(vm, trace, r);
          break;
        case Use::kBack:
          serve<Use::kBack>(vm, trace, r);
          break;
        case Use::kAround:
          serve<Use::kAround>(vm, trace, r);
          break;
        case Use::kSlowPath:
          slow_path_.serve_singly(trace, r);
          break;
      }
    }
  }

 private:
  // The data of a VM, looked up once a request.
  struct Vm {
    VmId id;
    std::size_t part;
    bool alone;  // in its part
    VmCounters& counts;
    TierCounters* tiers;
  };
  // found: the tier that held the block. top, low: the fastest and the slowest tier to which the
  // access wrote its data.
  struct Outcome {
    std::size_t found;
    std::size_t top;
    std::size_t low;
  };

  Use use(VmId vm, std::uint8_t op) const {
    return op == 0 ? Use::kRead : use_of(dirty_.effective_mode(vm));
  }
  Vm vm_of(VmId id) {
    VmCounters& counts = counters_[id];
    return {id, part_of_[id], alone_[id] != 0, counts, counts.tiers.data()};
  }
  Tier& tier(std::size_t k) {
    tiers_[k]->assume_only_logs();
    return *tiers_[k];
  }
  bool has_room(std::size_t k, const Vm& vm) { return tier(k).has_room(vm.part); }

  // Blocks are passed as their rows in the table, in which each tier has one column.
  bool holds(std::size_t k, const Vm& vm, TableEntry block) {
    return tier(k).holds(vm.part, block.in_column(k));
  }
  [[gnu::always_inline]] bool touch(std::size_t k, const Vm& vm, TableEntry block) {
    return tier(k).touch_in_log(vm.part, block.in_column(k));
  }
  bool take(std::size_t k, const Vm& vm, TableEntry block) {
    return tier(k).take(vm.part, block.in_column(k));
  }

  template <Use kUse>
  void serve(const Vm& vm, const Accesses& trace, std::size_t request) {
    constexpr Op kOp = kUse == Use::kRead ? Op::kRead : Op::kWrite;
    std::array<Count, kMaxTiers + 1>& found = found_[vm.id][static_cast<std::size_t>(kOp)];
    Served& served = vm.counts.served(kOp);
    const std::span<const BlockId> ids(trace.ids);
    const RequestRange blocks{trace.request_begin[request], trace.request_begin[request + 1]};
    std::size_t slowest = 0;
    MissedBlocks missed;
    for (std::size_t i = blocks.begin; i < blocks.end; ++i) {
      look_ahead(ids[std::min(i + kAhead, ids.size() - 1)]);
      const auto [had_it, served_by] = access<kUse>(vm, table_.row(ids[i]));
      ++found[had_it];
      ++served.blocks[served_by];
      slowest = std::max(slowest, served_by);
      missed.note(i == blocks.begin, had_it == kTiers);
    }
    ++served.requests[slowest];
    count_request(trace, request, missed, vm.counts);
  }

  void look_ahead(BlockId block) const {
    table_.prefetch(block);
    prefetch_block_state(block);
  }
  void prefetch_block_state(BlockId block) const {
    if (dirty_.count() > 0) dirty_.prefetch(block);
    if constexpr (kProbe) probe_->prefetch(block);
  }

  // Serve an access; return the tier that had the block, and the one that the VM waited for.
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
      // Tiers that the block entered are faster.
      for (std::size_t k = 0; k < kTiers; ++k) {
        if (k >= outcome.found && holds(k, vm, block)) ++vm.tiers[k].updates;
      }
      return {outcome.found, kTiers};
    }
  }

  // All older copies are outdated now, also those demoted as a consequence of this insertion. The
  // newest copy is above them, wherever it will be.
  [[gnu::always_inline]] std::pair<std::size_t, std::size_t> write_back_into(const Vm& vm,
                                                                             TableEntry block) {
    const bool was_clean = dirty_.mark(vm.id, block);
    const auto [found, top, low] = fetch(vm, block);
    if (top == kTiers) {
      if (was_clean) dirty_.unmark(vm.id, block);
      ++vm.counts.backend_writes;
      return {found, kTiers};
    }
    if (top == found) ++vm.tiers[top].updates;
    if (low > 0) dirty_.move(block, 0, low);
    while (dirty_.too_many()) [[unlikely]]
      write_back_oldest();
    return {found, top};
  }

  std::size_t write_around(const Vm& vm, TableEntry block) {
    ++vm.counts.backend_writes;
    bool dropped = false;
    std::size_t found = kTiers;
    for (std::size_t k = kTiers; k-- > 0;) {
      if (!dirty_.rules().update_around) {
        dropped |= invalidate(k, vm, block);
      } else if (touch(k, vm, block)) {
        ++vm.tiers[k].updates;
        found = k;
      }
    }
    if (kProbe && dropped) probe_->removed(vm.id, block);
    if (kProbe && found < kTiers) probe_->hit(vm.id, block);
    return found;
  }

  bool invalidate(std::size_t k, const Vm& vm, TableEntry block) {
    if (!take(k, vm, block)) return false;
    ++vm.tiers[k].invalidations;
    --vm.tiers[k].occupancy;
    return true;
  }
  std::size_t fastest_with(const Vm& vm, TableEntry block) {
    std::size_t k = 0;
    while (k < kTiers && !holds(k, vm, block)) ++k;
    return k;
  }

  [[gnu::always_inline]] Outcome fetch(const Vm& vm, TableEntry block) {
    const std::size_t found = look(vm, block);
    if (kProbe && found < kTiers) probe_->hit(vm.id, block);
    Outcome outcome{found, found, found};
    if (found == 0) return outcome;
    if constexpr (kChain == Chain::kVictim) {
      outcome.top = outcome.low = enter_fastest(vm, block, found);
    } else {
      enter_all(vm, block, tiers_with_space(vm), outcome);
      // Victims of the faster tiers may have evicted it from slower ones.
      while (outcome.low > outcome.top && !holds(outcome.low, vm, block)) --outcome.low;
    }
    if (kProbe && found == kTiers && outcome.top < kTiers) {
      probe_->inserted(vm.id, block);
      probe_->end_insertion(vm.id);
    }
    return outcome;
  }

  // Return the fastest tier that has the block, and count its use there.
  template <std::size_t kFrom = 0>
  [[gnu::always_inline]] std::size_t look(const Vm& vm, TableEntry block) {
    if constexpr (kFrom < kTiers) {
      return touch(kFrom, vm, block) ? kFrom : look<kFrom + 1>(vm, block);
    }
    return kTiers;
  }

  // Insert the block, which tier `found` had, into the fastest tier above with space; return the
  // fastest tier that then has it.
  template <std::size_t kTo = 0>
  [[gnu::always_inline]] std::size_t enter_fastest(const Vm& vm, TableEntry block,
                                                   std::size_t found) {
    if constexpr (kTo < kTiers) {
      if (kTo == found) return found;
      if (!has_room(kTo, vm)) return enter_fastest<kTo + 1>(vm, block, found);
      enter_tier<kTo>(vm, block, found);
      return kTo;
    }
    return kTiers;
  }

  // Return the tiers with space now, one bit each: insertions into slower tiers may change it.
  [[gnu::always_inline]] unsigned tiers_with_space(const Vm& vm) {
    unsigned open_tiers = 0;
    for (std::size_t k = 0; k < kTiers; ++k)
      open_tiers |= static_cast<unsigned>(has_room(k, vm)) << k;
    return open_tiers;
  }

  // Insert the block into all tiers above, the slowest first. In an inclusive chain, a tier without
  // space also keeps the block out of the tiers above.
  template <std::size_t kBelow = kTiers>
  [[gnu::always_inline]] void enter_all(const Vm& vm, TableEntry block, unsigned open_tiers,
                                        Outcome& outcome) {
    if constexpr (kBelow > 0) {
      constexpr std::size_t kTo = kBelow - 1;
      if (kTo < outcome.found) {
        if ((open_tiers >> kTo & 1) != 0) {
          enter_tier<kTo>(vm, block, outcome.found);
          if (outcome.top == outcome.found) outcome.low = kTo;
          outcome.top = kTo;
        } else if (kChain == Chain::kInclusive) {
          return;
        }
      }
      enter_all<kTo>(vm, block, open_tiers, outcome);
    }
  }

  template <std::size_t kTo>
  [[gnu::always_inline]] void enter_tier(const Vm& vm, TableEntry block, std::size_t found) {
    ++(found == kTiers ? vm.tiers[kTo].fills : vm.tiers[kTo].promotions);
    insert<kTo>(vm, block);
  }

  template <std::size_t kTo>
  [[gnu::always_inline]] void insert(const Vm& vm, TableEntry block) {
    ++vm.tiers[kTo].occupancy;
    BlockId next = 0;
    const auto [victim, own] = tier(kTo).insert_in_log(vm.part, block.in_column(kTo), &next);
    if (victim == kNoBlock) return;
    prefetch_block_state(next);
    if (vm.alone && own) return leave<kTo>(vm, table_.row(victim));
    leave<kTo>(vm_of(owners_.vm_of(victim)), table_.row(victim));
  }

  // Demote a victim of the tier to a slower one, or evict it.
  template <std::size_t kFrom>
  void leave(const Vm& owner, TableEntry block) {
    TierCounters& left = owner.tiers[kFrom];
    --left.occupancy;
    // The tier from whose device the newest data is read.
    const std::size_t source =
        kChain == Chain::kInclusive ? drop_above(kFrom, owner, block) : kFrom;
    const bool newest = dirty_.count() > 0 && is_newest(kFrom, block);
    if (newest && dirty_.effective_mode(owner.id) == EffectiveWriteMode::kByTier) [[unlikely]] {
      if (!slow_path_.write_on(kFrom, source, owner.id, block)) return evicted(owner, left, block);
      ++left.moved_down;
      return;
    }
    if ((newest || kChain == Chain::kVictim) && push_down<kFrom>(source, owner, block, newest)) {
      ++left.moved_down;
      return;
    }
    if (newest) write_back(source, kFrom, owner, block);
    evicted(owner, left, block);
  }

  // Count a victim that entered no slower tier; other tiers may hold it.
  void evicted(const Vm& owner, TierCounters& left, TableEntry block) {
    ++left.evictions;
    if (kProbe && fastest_with(owner, block) == kTiers) probe_->removed(owner.id, block);
  }

  // Write the block to the backend and update the copies in slower tiers.
  void write_back(std::size_t source, std::size_t from, const Vm& owner, TableEntry block) {
    ++owner.tiers[source].copied_out;
    for (std::size_t k = from + 1; k < kTiers; ++k) {
      if (holds(k, owner, block)) ++owner.tiers[k].updates;
    }
    dirty_.write_back(owner.id, block);
  }

  void write_back_oldest() {
    const BlockId block = dirty_.oldest();
    std::size_t newest = 0;
    while (!dirty_.contains(block, newest)) ++newest;
    write_back(newest, newest, vm_of(owners_.vm_of(block)), table_.row(block));
  }

  // Return whether the victim has data that the backend and all other tiers lack.
  bool is_newest(std::size_t from, BlockId block) {
    if (!dirty_.contains(block, from)) return false;
    if (!dirty_.dirty_above(block, from)) return true;
    dirty_.outdate(block, from);
    return false;
  }

  // Demote to the first slower tier that has the block or space for it; return false if there is
  // none.
  template <std::size_t kFrom, std::size_t kTo = kFrom + 1>
  [[gnu::always_inline]] bool push_down(std::size_t source, const Vm& owner, TableEntry block,
                                        bool dirty) {
    if constexpr (kTo < kTiers) {
      const bool has_copy = touch(kTo, owner, block);
      if (!has_copy && !has_room(kTo, owner)) {
        return push_down<kFrom, kTo + 1>(source, owner, block, dirty);
      }
      if (dirty) dirty_.move(block, kFrom, kTo);
      // A clean block need not be copied if the tier has it.
      owner.tiers[source].copied_out += dirty || !has_copy ? 1 : 0;
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

  // Drop the copies above a victim. Return the tier that had the newest data; instead of that copy,
  // the victim is dirty.
  std::size_t drop_above(std::size_t below, const Vm& owner, TableEntry block) {
    std::size_t source = below;
    for (std::size_t k = below; k-- > 0;) {
      if (!invalidate(k, owner, block) || !dirty_.contains(block, k)) continue;
      dirty_.move(block, k, below);
      source = k;
    }
    return source;
  }

  const SlotTable& table_;
  std::span<const std::size_t> part_of_;
  std::span<const std::uint8_t> alone_;
  const BlockOwners& owners_;
  const VmAdmission& admission_;
  DirtyTracker& dirty_;
  SlowPath& slow_path_;
  CacheProbe* probe_;  // may be null
  std::span<VmCounters> counters_;
  std::span<Found> found_;
  std::array<Tier*, kTiers> tiers_;
};

template <Chain kChain>
void CopyChain::replay_as(const Accesses& trace, RequestRange range, std::span<VmCounters> counters,
                          std::span<Found> found) {
  const auto with_tiers = [&]<std::size_t kTiers>() {
    if (probe_ == nullptr) {
      Loop<kChain, kTiers, false>(*this, counters, found).replay_range(trace, range);
    } else {
      Loop<kChain, kTiers, true>(*this, counters, found).replay_range(trace, range);
    }
  };
  tiers_.size() == 2 ? with_tiers.template operator()<2>() : with_tiers.template operator()<3>();
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
