#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/kernels/kernel.hpp"
#include "core/engine/model/chain.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"
#include "core/engine/tiers/fetches.hpp"
#include "core/engine/tiers/tier.hpp"
#include "core/engine/tiers/vm_admission.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

struct TieredSetup {
  Chain chain = Chain::kExclusive;
  std::vector<Tier> tiers;           // fastest first, at most kMaxTiers
  std::shared_ptr<SlotTable> table;  // shared by all tiers, one column each
  std::vector<std::size_t> part_of;  // by VM; the same in all tiers
  bool changeable = false;           // whether targets may change
  WriteRules writes;
  std::optional<FetchTimes> fetches = {};  // if set, some tier has delayed hits
};

// Tiers under any policies, with writes, for VMs that share them or have parts of their own.
//
// A read searches the tiers from the fastest on. From the tier that has the block, or from the
// backend, the block enters the tiers above that the chain specifies and that admit it. Victims are
// demoted or evicted:
//
//              a read enters        a copy found below    a clean victim
//   exclusive  the fastest tier     is removed            is demoted
//   victim     the fastest tier     stays                 is demoted
//   inclusive  all tiers above      stays                 is evicted, with the copies above
//   independ.  all tiers above      stays                 is evicted
//
// A write through or back enters the same tiers as a read, but blocks are written whole, so nothing
// is read for it. Data that the backend does not have yet is dirty. Under every chain, a dirty
// victim goes to the next tier that takes it, or to the backend if none does:
//
//            enters     the VM waits for     dirty       copies in slower tiers
//   through  yes        the backend          no          are updated
//   back     yes        the tier it enters   that copy   are outdated until overwritten
//   around   no         the backend          no          are dropped, or updated (update_around)
//
// Modes may differ by tier if blocks have several copies. A write passes the tiers from the fastest
// down to its end: the first tier that writes back and has or admits the block, or else the
// backend. The VM waits for the end:
//
//   around       above the end: a copy is dropped, or updated (update_around)
//   through      above the end: the block enters, clean, where a read would; a copy is updated
//   back         at the end: the block enters, whichever tier had it, or a copy is updated
//   below that   it enters tiers that write back, where a read would; others are not reached
//
// The slowest write-back tier that the block entered has the dirty copy. The new data of a victim
// continues like a write from the next slower tier. It passes tiers that are written around, and
// stops at the next tier that has or takes the block, or continues from there if that tier writes
// through. After a change of modes, dirty data moves from tiers that do not write back to the first
// slower tier that writes back and has or takes the block, or to the backend. Copies in between are
// updated. Flushes, and write-backs due to the dirty limit, go to the backend from any tier.
//
// In an inclusive chain a tier has all blocks of faster ones. So the modes must be in this order,
// from the fastest tier on: around, through, back. An exclusive chain has one copy of a block,
// which cannot be clean in one tier and dirty in another, so it needs one mode for all tiers. Hosts
// with staged data (below) need one mode, too: the publications describe only that case.
//
// A block of a blocked VM (VmAdmission) that no tier holds bypasses all tiers: a read is served,
// and a write goes to the backend, whatever the mode.
//
// A tier without space for a block is bypassed (Tier::has_room): no fill and no write there. The
// block enters the next tier with space, or stays in the tier that holds it; a victim goes to the
// next slower tier with space. Filters decide before a block enters; a tier that rejects it is
// bypassed, too. In an inclusive chain such a tier also keeps the block out of the tiers above.
//
// A write around that drops a copy is an invalidation and a miss: the backend serves it.
//
// Data that leaves a device is read from it (TierCounters::copied_out): demotions, write-backs and
// flushes. A clean victim is not copied if the next tier has a copy already.
//
// The filter of the slowest tier may stage blocks with their data, in memory. A read of staged data
// that no tier holds is not a miss: the VM waits for memory, and a block that then enters a tier is
// copied from memory. Decisions of the filter do not depend on the data. A write updates staged
// data; a write around drops it, unless it updates. The departure of a VM drops its staged data.
// All staged data is also in a tier or on the backend. Reads of a blocked VM find staged data, and
// do not count in the filter.
//
// A policy that refuses a block acts like a filter. Blocks that it evicts while it refuses leave
// after the access. A policy with a clock works before the first request at or after each tick, the
// fastest tier first, after a flush that is due: its victims leave like others, and blocks that it
// cleans are written back.
//
// In a tier with delayed hits, a block that a read brings in can be read only when the fetch ends
// (Fetches). Nothing else depends on fetches: the block takes its space, is evicted and is written
// back as if it were there. A block that left all tiers is a miss, also during its fetch. A write
// replaces the data and waits for no fetch.
//
// The walk of this class, access by access, is the semantics. The kernels (kernels/all.hpp) leave
// the same state, and replace it where they can. The walk serves all other cases, and all cases
// with a log or with delayed hits.
class TieredHost final : public Host, private SlowPath {
 public:
  // `trace`: the trace that will be replayed.
  static absl::StatusOr<std::unique_ptr<TieredHost>> make(TieredSetup setup, const Accesses& trace);

  void replay(const Accesses& trace, RequestRange range) override;
  Actions supports() const override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status set_write_modes(std::span<const WriteMode> modes) override;
  absl::Status check_write_modes_by_tier(const ModesByTier& modes) const override;
  absl::Status set_write_modes_by_tier(const ModesByTier& modes) override;
  absl::Status set_admission(const std::vector<bool>& admits) override;
  absl::Status attach(const Observers& observers) override;
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  absl::Status failure() const override;
  std::vector<VmCounters> counters() const override;
  absl::Status save(ArchiveWriter& to) override;
  absl::Status load(ArchiveReader& from) override;
  absl::Status check_invariants() const override;

  // holds: whether a tier has the block. fastest_with: the fastest tier that has it, or the number
  // of tiers. dirty: whether its newest data is not on the backend.
  bool holds(std::size_t tier, VmId vm, BlockId block) const {
    return tiers_[tier].holds(part(vm), block);
  }
  std::size_t fastest_with(VmId vm, BlockId block) const {
    std::size_t k = 0;
    while (k < tiers_.size() && !holds(k, vm, block)) ++k;
    return k;
  }
  bool dirty(BlockId block) const { return dirty_.contains(block); }
  // Remove the block from all tiers, after writing it back if it is dirty.
  void drop(VmId vm, BlockId block);
  // The loop that replayed the last requests: the name of a kernel, or kWalk.
  static constexpr std::string_view kWalk = "walk";
  std::string_view last_loop() const { return last_loop_; }
  // Whether the block's data is staged.
  bool staged(BlockId block) const { return staged_ns_ && tiers_.back().has_data(block); }
  void drop_staged(BlockId block) {
    if (staged_ns_) tiers_.back().drop_data(block);
  }

  // Append the tier that held each block, or the number of tiers, to `found` from now on. The walk
  // then serves all requests.
  void report_found(std::vector<std::size_t>& found) {
    kernels_.clear();
    reported_ = &found;
  }
  // Read a block that no tier has from the backend into a tier, in an inclusive chain also into all
  // slower ones. Return whether it was read: the VM, the filters and the policies must admit it.
  // `context`: the request that caused it.
  bool prefetch(std::size_t to, const RequestContext& context, BlockId block);

 private:
  // The VM of a block, its state, and the request that moves the block.
  struct Request {
    VmId vm;
    const RequestContext* context;
    std::size_t part;
    TierCounters* tiers;  // by tier
  };
  // found: the tier that held the block, or the number of tiers. served_by: the tier that the VM
  // waited for; the number of tiers means the backend.
  struct Outcome {
    std::size_t found;
    std::size_t served_by;
    bool staged = false;  // served by memory, not by served_by
  };

  // The tiers of a write. held: the fastest that holds the block and keeps it. found: the fastest
  // that holds it and is not written around. end: the tier that writes back, or the backend.
  // enters: a bit for each tier that the block enters.
  struct Route {
    std::size_t held;
    std::size_t found;
    std::size_t end;
    unsigned enters = 0;

    bool enters_tier(std::size_t k) const { return (enters >> k & 1) != 0; }
  };

  // The delayed hits of a request, their time together, and the longest wait.
  struct Delays {
    Count hits = 0;
    Nanoseconds ns = 0;
    Nanoseconds longest = 0;
  };

  class LookAhead;

  TieredHost(TieredSetup setup, const Accesses& trace);

  void drop_copies(VmId vm, BlockId block);
  void make_kernels();
  void start_clocks(const Accesses& trace);
  void serve(const Accesses& trace, RequestRange range);
  void serve_singly(const Accesses& trace, std::size_t request) override;

  // In tiered_host_reads.cpp.
  Access<> access_of(const RequestContext& context, std::size_t position, BlockId block,
                     std::size_t i);
  void walk(const Accesses& trace, RequestRange range);
  bool is_delayed(const Request& request, BlockId block, const Outcome& outcome, Delays& delays);
  Nanoseconds join_fetch(const Request& request, BlockId block, const Outcome& outcome);
  void count_waits(const Request& request, std::size_t slowest, Count staged, const Delays& delays);
  void look_ahead(std::span<const BlockId> ids, std::size_t i, LookAhead& near) const;
  Outcome fetch(const Request& request, const Access<>& a);
  bool touch(std::size_t k, const Request& request, const Access<>& a);
  bool move_up_from(std::size_t k, const Request& request, BlockId block);
  void enter(const Request& request, const Access<>& a, std::size_t found, unsigned admitted);
  void insert(std::size_t to, const Request& request, const Access<>& a);
  void leave_refused(const RequestContext& context);
  void leave_in_turn(std::size_t from, std::span<const BlockId> victims,
                     const RequestContext& context);
  void leave(std::size_t from, BlockId block, const RequestContext& context);
  bool in_no_tier(VmId vm, BlockId block) const;
  void look_ahead_of_victims(BlockId soon) const;
  bool push_down(std::size_t from, std::size_t source, const Request& owner, BlockId block);
  void put_below(std::size_t to, const Request& owner, const Access<>& a);
  std::size_t drop_above(std::size_t below, const Request& owner, BlockId block);
  bool invalidate(std::size_t k, const Request& owner, BlockId block);
  static void count_invalidation(std::size_t k, const Request& owner);

  // In tiered_host_writes.cpp.
  Outcome write(const Request& request, const Access<>& a);
  Route route_of(const Request& request, const Access<>& a);
  void look_in(std::size_t k, const Request& request, const Access<>& a, Route& route);
  static void keep_inclusive(Route& route);
  void bring_in_on_route(const Request& request, const Access<>& a, const Route& route);
  bool bring_in(std::size_t to, const Request& request, const Access<>& a, const Route& route);
  std::size_t write_at_end(const Request& request, const Access<>& a, const Route& route);
  std::size_t write_into_end(const Request& request, const Access<>& a, const Route& route);
  void update_above_end(const Request& request, const Access<>& a, const Route& route);
  bool write_past(std::size_t k, const Request& request, const Access<>& a);
  void report_write(const Request& request, BlockId block, bool was_held, bool hit);
  bool write_on(std::size_t from, std::size_t source, VmId vm, BlockId block) override;
  bool pass_on(std::size_t from, const Request& owner, BlockId block);
  void settle(VmId vm, BlockId block);
  void update_from(std::size_t from, const Request& owner, BlockId block);
  std::size_t newest_copy(VmId vm, BlockId block) const;
  void write_back(std::size_t source, std::size_t from, const Request& owner, BlockId block);
  void write_back(BlockId block);
  void flush();
  void tick_until(Nanoseconds now);
  std::size_t next_tick(const Accesses& trace, RequestRange range) const;

  bool holds_any(VmId vm, BlockId block) const { return fastest_with(vm, block) < backend(); }

  // Whether the block bypasses all tiers because its VM is blocked.
  bool is_blocked(VmId vm, BlockId block) const {
    return admission_.is_blocked(vm) && !holds_any(vm, block);
  }
  // Whether clean victims are demoted, too; if so, a block enters only one tier.
  bool demotes() const { return one_copy() || chain_ == Chain::kVictim; }
  // Whether the tier admits a block that it does not hold.
  bool admits(std::size_t k, const Request& request, const Access<>& a) {
    return tiers_[k].admits(request.part, a);
  }
  // Whether the tier may hold the block; false is certain.
  bool has_slot(BlockId block, std::size_t k) const {
    return !tiers_[k].has_slots() || table_->find(block, k) != kNoSlot;
  }
  bool needs_next_use() const { return next_uses_.size() > 0; }
  NextUse& next_use(std::size_t tier, BlockId block) {
    return next_use_of_[tier * blocks_ + block / line_blocks_];
  }
  bool one_copy() const { return chain_ == Chain::kExclusive; }
  std::size_t backend() const { return tiers_.size(); }
  std::size_t part(VmId vm) const { return part_of_[vm]; }
  Request request_of(VmId vm, const RequestContext& context = kNoRequest) {
    return {vm, &context, part(vm), counters_[vm].tiers.data()};
  }

  Chain chain_;
  std::vector<Tier> tiers_;
  std::shared_ptr<SlotTable> table_;
  std::vector<std::size_t> part_of_;
  bool any_slots_;        // whether a tier has slots in the table
  bool reads_addresses_;  // whether a tier's filter does
  bool refuses_;          // whether a tier's policy may refuse blocks
  bool changeable_;
  std::size_t blocks_;
  std::uint32_t line_blocks_;
  BlockOwners owners_;
  DirtyTracker dirty_;
  VmAdmission admission_;
  std::optional<Count> staged_ns_;    // time of a read of staged data, if any is staged
  std::optional<Fetches> fetches_;    // if a tier has delayed hits
  std::vector<VmCounters> counters_;  // without the counts of found_ and dirty_
  std::vector<Kernel::Found> found_;  // by VM
  std::array<std::vector<BlockId>, kMaxTiers> victims_;
  std::unordered_multiset<BlockId> to_leave_;  // with a probe: victims that have not moved yet
  // For policies that need the future: the next use after each access, and that of the blocks that
  // a tier holds, by tier and line.
  Pages<NextUse> next_uses_;
  Pages<NextUse> next_use_of_;
  // Clocks of policies, by tier: the next tick; 0 if there is none.
  struct TierClock {
    Nanoseconds period;
    Nanoseconds next;
    Nanoseconds begin;  // of the trace
  };
  std::vector<TierClock> clocks_;
  struct NamedKernel {
    std::string_view name;
    std::unique_ptr<Kernel> kernel;
  };
  std::vector<NamedKernel> kernels_;  // those that can serve this chain
  std::string_view last_loop_ = kWalk;
  Observers observers_;
  std::vector<std::size_t>* reported_ = nullptr;
};

}  // namespace mcsim
