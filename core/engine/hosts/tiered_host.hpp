#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/hosts/batched_chain.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/hosts/copy_chain.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/chain.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"
#include "core/engine/tiers/tier.hpp"
#include "core/engine/tiers/vm_admission.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

struct TieredSetup {
  Chain chain = Chain::kExclusive;
  std::vector<Tier> tiers;           // fastest first, at most kMaxTiers
  std::shared_ptr<SlotTable> table;  // of all tiers, each its column
  std::vector<std::size_t> part_of;  // by VM; the same in all tiers
  bool changeable = false;           // whether targets may change
  WriteRules writes;
};

// Tiers under any policies, for VMs that share them or have parts of their own, with
// writes.
//
// A read is looked for from the fastest tier on. Where it is found, or from the backend, it
// comes into the tiers above, as the chain has it and their filters allow; what has to leave
// for it goes down, or out:
//
//              a read comes into            when found below            a clean victim
//   exclusive  the fastest tier             leaves the tier below       goes down
//   victim     the fastest tier             stays below, too            goes down
//   inclusive  all tiers above              stays below, too            leaves, and those above
//   independ.  all tiers above              stays below, too            leaves
//
// A write through or back comes in as a read does, but blocks are written whole: nothing is
// read for it. What the backend does not have yet is dirty, and a dirty victim goes to the
// next tier that takes it under every chain, or to the backend if none does:
//
//            comes in   the VM waits for     dirty       copies in slower tiers
//   through  yes        the backend          no          are updated
//   back     yes        where it comes in    that copy   are old, until they are overwritten
//   around   no         the backend          no          leave; or are updated, if so asked
//
// Modes may differ by tier where blocks have several copies. A write goes from the fastest tier
// down, to the first that writes back and has the block or lets it in, or else to the backend;
// the VM waits for what it ended at:
//
//   around       on the way it passes by: a copy leaves, or is updated, if so asked
//   through      on the way it comes in, clean, where a read would; a copy is updated
//   back         where it ends it comes in, whatever had the block, or updates the copy
//   below that   it comes into those that write back, where a read would; others are not reached
//
// The slowest tier that it so came into, of those that write back, has the dirty copy. What is new
// of a victim goes on as a write does, from the next slower tier: past those that are written
// around, into the next that has the block or takes it, and on from there if that one is written
// through. Modes that change leave nothing dirty in a tier that does not write back: it goes to
// the first slower one that does, and has the block or takes it, or to the backend; copies between
// are updated. What is flushed, or exceeds a limit, goes to the backend from any tier.
//
// In an inclusive chain a tier has what faster ones have, so that from the fastest tier on some may
// be written around, then some through, then some back, and in no other order. An exclusive chain
// has one copy of a block, which is not clean in one tier and dirty in another: one mode for all,
// as beside data that is staged (below), of which sources know one mode alone.
//
// A block of a blocked VM (VmAdmission) that no tier holds bypasses all of them: a read is served,
// and a write goes to the backend, whatever the mode.
//
// A tier without room for a block is bypassed (Tier::has_room): no fill and no write there. The
// block comes into the next tier that has room, or stays in the tier that holds it; a victim goes
// to the next slower tier that has room. Filters are asked before a block comes in; a tier that
// refuses it is bypassed, too. In an inclusive chain such a tier keeps the block from those above.
//
// A write around that drops a copy is an invalidation and a miss: the backend serves it.
//
// Data that leaves a device is read from it (TierCounters::copied_out): demotions, write-backs and
// flushes. A clean victim whose copy lies in the next tier already is not copied.
//
// The filter of the slowest tier may stage blocks with their data, in memory. A read that finds
// it there, and in no tier, is no miss: the VM waits for memory, and what then comes in was read
// from there. The filter does what it would without the data. A staged block that is written has
// the new data at once, but written around it has none from then on, unless it is updated; the
// data of a VM that departs goes, too. Generic is only there: what is staged is in a tier or on the
// backend, too. To a VM that is shut out what is staged is served, and its reads count for nothing.
//
// An exclusive chain serves batches, a tier at a time, when nothing forbids it (BatchedChain); LRU
// tiers that keep copies have a loop of their own (CopyChain) for all but a few requests; else
// accesses are served one by one. All may take turns: they leave the same state.
class TieredHost final : public Host, private CopyChain::SlowPath {
 public:
  // The trace is the one that will be replayed.
  static absl::StatusOr<std::unique_ptr<TieredHost>> make(TieredSetup setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  Actions supports() const override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status set_write_modes(std::span<const WriteMode> modes) override;
  absl::Status check_write_modes_by_tier(const ModesByTier& modes) const override;
  absl::Status set_write_modes_by_tier(const ModesByTier& modes) override;
  absl::Status set_admission(const std::vector<bool>& admits) override;
  absl::Status attach(CacheProbe& probe) override;
  void release(VmId vm) override;
  absl::Status failure() const override;
  std::vector<VmCounters> counters() const override;
  absl::Status check_invariants() const override;

  // Whether a tier has the block; the fastest that does, or the number of tiers; and whether the
  // backend lacks its newest data.
  bool holds(std::size_t tier, VmId vm, BlockId block) const {
    return tiers_[tier].holds(part(vm), block);
  }
  std::size_t fastest_with(VmId vm, BlockId block) const {
    std::size_t k = 0;
    while (k < tiers_.size() && !holds(k, vm, block)) ++k;
    return k;
  }
  bool dirty(BlockId block) const { return dirty_.contains(block); }
  // The block leaves all tiers, after it was written back if it is dirty.
  void drop(VmId vm, BlockId block);
  // Whether a read finds it in memory, where no tier has it; and that it does so no more.
  bool staged(BlockId block) const { return staged_ns_ && tiers_.back().has_data(block); }
  void drop_staged(BlockId block) {
    if (staged_ns_) tiers_.back().drop_data(block);
  }

 private:
  // Requests between two flushes that are worth a batch.
  static constexpr std::size_t kWorthABatch = 256;

  // What is being served, for whom, and what the host has of that VM: looked up once.
  struct Request {
    VmId vm;
    Count blocks;
    std::size_t part;
    TierCounters* tiers;  // by tier
  };
  // The tier that held the block, and the one that the VM waited for. The number of tiers stands
  // for none, and for the backend.
  struct Outcome {
    std::size_t found;
    std::size_t served_by;
    bool staged = false;  // a read of staged data: served by memory, and by none of these
  };

  // Where a write goes: the fastest tier that holds the block, dropped copies aside, and the
  // fastest of those that are not written around; where it ends; and a bit for each tier that it
  // comes into.
  struct Route {
    std::size_t held;
    std::size_t found;
    std::size_t end;
    unsigned enters = 0;

    bool enters_tier(std::size_t k) const { return (enters >> k & 1) != 0; }
  };

  class LookAhead;

  TieredHost(TieredSetup setup, const Accesses& trace);

  bool unfiltered() const;
  bool batchable() const;
  void serve(const Accesses& trace, RequestRange range);
  void look_ahead(std::span<const BlockId> ids, std::size_t i, LookAhead& near) const;
  void walk(const Accesses& trace, RequestRange range);
  Outcome write(const Request& request, const Access<>& a);
  bool write_past(std::size_t k, const Request& request, const Access<>& a);
  bool invalidate(std::size_t k, const Request& owner, BlockId block);
  Route route_of(const Request& request, const Access<>& a);
  void look_in(std::size_t k, const Request& request, const Access<>& a, Route& route);
  static void keep_inclusive(Route& route);
  void update_above_end(const Request& request, const Access<>& a, const Route& route);
  void report_write(const Request& request, BlockId block, bool was_held, bool hit);
  void bring_in_on_route(const Request& request, const Access<>& a, const Route& route);
  std::size_t write_into_end(const Request& request, const Access<>& a, const Route& route);
  std::size_t write_at_end(const Request& request, const Access<>& a, const Route& route);
  bool bring_in(std::size_t to, const Request& request, const Access<>& a, const Route& route);
  Outcome fetch(const Request& request, const Access<>& a);
  bool touch(std::size_t k, const Request& request, const Access<>& a);
  bool move_up_from(std::size_t k, const Request& request, BlockId block);
  void enter(const Request& request, const Access<>& a, std::size_t found, unsigned admitted);
  void insert(std::size_t to, const Request& request, const Access<>& a);
  void leave(std::size_t from, BlockId block, Count request_blocks);
  bool in_no_tier(VmId vm, BlockId block) const;
  void leave_in_turn(std::size_t from, std::span<const BlockId> victims, Count request_blocks);
  void look_ahead_of_victims(BlockId soon) const;
  bool push_down(std::size_t from, std::size_t source, const Request& owner, BlockId block);
  void serve_singly(const Accesses& trace, std::size_t request) override;
  bool write_on(std::size_t from, std::size_t source, VmId vm, BlockId block) override;
  bool pass_on(std::size_t from, const Request& owner, BlockId block);
  void put_below(std::size_t to, const Request& owner, const Access<>& a);
  void settle(VmId vm, BlockId block);
  std::size_t drop_above(std::size_t below, const Request& owner, BlockId block);
  void update_from(std::size_t from, const Request& owner, BlockId block);

  std::size_t newest_copy(VmId vm, BlockId block) const;
  void write_back(std::size_t source, std::size_t from, const Request& owner, BlockId block);
  void write_back(BlockId block);
  void flush();
  bool holds_any(VmId vm, BlockId block) const { return fastest_with(vm, block) < backend(); }

  // Whether nothing may come in because of the request for the block.
  bool is_blocked(VmId vm, BlockId block) const {
    return admission_.is_blocked(vm) && !holds_any(vm, block);
  }
  // Whether victims go down even if they are clean, and a block comes into one tier.
  bool demotes() const { return one_copy() || chain_ == Chain::kVictim; }
  // Whether the tier lets a block in that it does not hold.
  bool admits(std::size_t k, const Request& request, BlockId block) {
    return tiers_[k].admits(request.part, block, request.blocks);
  }
  // Whether the tier may have the block: it has, or remembers it.
  bool has_slot(BlockId block, std::size_t k) const {
    return !tiers_[k].has_slots() || table_->find(block, k) != kNoSlot;
  }
  bool knows_future() const { return next_uses_.size() > 0; }
  NextUse& next_use(std::size_t tier, BlockId block) {
    return next_use_of_[tier * blocks_ + block / line_blocks_];
  }
  bool one_copy() const { return chain_ == Chain::kExclusive; }
  std::size_t backend() const { return tiers_.size(); }
  std::size_t part(VmId vm) const { return part_of_[vm]; }
  Request request_of(VmId vm, Count blocks = 1) {
    return {vm, blocks, part(vm), counters_[vm].tiers.data()};
  }

  Chain chain_;
  std::vector<Tier> tiers_;
  std::shared_ptr<SlotTable> table_;
  std::vector<std::size_t> part_of_;
  bool any_slots_;  // in the table
  bool changeable_;
  std::size_t blocks_;
  std::uint32_t line_blocks_;
  BlockOwners owners_;
  DirtyTracker dirty_;
  VmAdmission admission_;
  std::optional<Count> staged_ns_;          // what a read of staged data takes, if there is any
  std::vector<VmCounters> counters_;        // but for what `found_` and the book say
  std::vector<BatchedChain::Found> found_;  // by VM and operation: accesses by where it was
  std::array<std::vector<BlockId>, kMaxTiers> victims_;
  std::unordered_multiset<BlockId> to_leave_;  // victims that still have to go down, with a probe
  // For policies that must know the future: of each access; and by tier and line, of what
  // the tier holds.
  Pages<NextUse> next_uses_;
  Pages<NextUse> next_use_of_;
  std::optional<BatchedChain> batches_;  // if they are ever possible
  std::optional<CopyChain> copies_;      // the same
  CacheProbe* probe_ = nullptr;
};

}  // namespace mcsim
