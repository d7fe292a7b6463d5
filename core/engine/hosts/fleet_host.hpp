#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "core/engine/tiers/admission.hpp"
#include "core/engine/tiers/block_owners.hpp"

namespace mcsim {

// By VM, the host that it is on.
using HostOfVm = std::shared_ptr<std::vector<std::size_t>>;

// Several hosts. Where each VM has a part of its own, to which its blocks stick, hosts do not
// know of each other: their tiers are laid side by side, and a host is the VMs that are on it,
// which are granted no more than it has.
//
// A VM that moves takes its part along: its blocks keep their order, and the space that they had.
// But those it had before are on the way until they have come over: in the background one after
// the other, the one accessed last first, over a link that one VM uses at a time, in the order of
// their moves; or when they are asked for. All blocks of a request are asked for at once:
//
//   a read of one that is dirty   finds it on the other host, from where it comes over
//   a read of another             misses: it stays behind (OnDemand::kAll: as if dirty)
//   a write                       makes it out of date: it stays behind, and is written here
//
// What is evicted or written back on the way the host does that still has it. What is on its way
// when the VM moves on stays behind.
class FleetHost final : public Host {
 public:
  // Tiers in which every VM has a part that never holds more than its target.
  static absl::StatusOr<std::unique_ptr<Host>> make(std::unique_ptr<TieredHost> tiers,
                                                    const Machine& machine, const Accesses& trace,
                                                    HostOfVm host_of);

  void replay(const Accesses& trace, RequestRange range) override;
  absl::Status resize(const Allocation& targets) override;
  absl::Status migrate(std::span<const Migration> migrations, const Allocation& targets,
                       Nanoseconds now) override;
  Actions supports() const override {
    Actions all = tiers_->supports();
    all.add(Action::kMigrations);
    return all;
  }
  absl::Status set_admission(const std::vector<bool>& admits) override {
    return tiers_->set_admission(admits);
  }
  absl::Status set_write_modes(std::span<const WriteMode> modes) override {
    return tiers_->set_write_modes(modes);
  }
  absl::Status check_write_modes_by_tier(const ModesByTier& modes) const override {
    return tiers_->check_write_modes_by_tier(modes);
  }
  absl::Status set_write_modes_by_tier(const ModesByTier& modes) override {
    return tiers_->set_write_modes_by_tier(modes);
  }
  absl::Status attach(CacheProbe& probe) override { return tiers_->attach(probe); }
  void attach_log(BackendLog& log) override { tiers_->attach_log(log); }
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  absl::Status failure() const override { return tiers_->failure(); }
  std::vector<VmCounters> counters() const override;
  absl::Status check_invariants() const override;

 private:
  using HostIndices = std::vector<std::size_t>;

  // What follows one VM, and is still to come.
  struct Transfer {
    VmId vm;
    std::uint64_t every;           // ns a block
    std::vector<BlockId> to_come;  // the last first; some have come already, or stay behind
  };
  struct Sent {
    Count sent = 0;
    Count transferred = 0;
    Count on_demand = 0;
    Count left_behind = 0;
    OnDemand rule = OnDemand::kDirty;

    bool under_way() const { return sent > transferred + on_demand + left_behind; }
  };

  FleetHost(std::unique_ptr<TieredHost> tiers, const Machine& machine, const Accesses& trace,
            HostOfVm host_of);

  absl::Status check_moves(std::span<const Migration> migrations, HostIndices& host_of) const;
  absl::Status check_hosts(const Allocation& targets, const HostIndices& host_of) const;
  void send(const Migration& migration);
  void stop(VmId vm);

  // Saturates: a slow link after centuries is never free again.
  std::uint64_t next_slot() const {
    const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - link_free_;
    return link_free_ + std::min(left, queue_.front().every);
  }
  void receive(std::uint64_t now);
  bool has_more(Transfer& transfer);
  void ask_for(const Accesses& trace, std::size_t request);
  bool fetch(VmId vm, BlockId block, Op op);
  bool asks(const Accesses& trace, std::size_t request) const;
  std::size_t end_of_stretch(const Accesses& trace, RequestRange range) const;

  bool is_on_the_way(BlockId block) const { return on_the_way_[block]; }
  bool still_held(VmId vm, BlockId block) const {
    return tiers_->fastest_with(vm, block) < capacities_.size();
  }
  // Of a block on the way: the cache has it no more, or it came, or it will not.
  bool was_evicted(VmId vm, BlockId block);
  void come_over(VmId vm, BlockId block, bool on_demand);
  void leave_behind(VmId vm, BlockId block);

  // Two times of a trace may be farther apart than Nanoseconds can hold.
  std::uint64_t since_begin(Nanoseconds time) const;

  std::unique_ptr<TieredHost> tiers_;
  std::vector<std::string> hosts_;
  std::vector<std::string> vms_;
  Link link_;
  std::vector<Count> capacities_;  // of one host, by tier
  HostOfVm host_of_;
  BlockOwners owners_;
  Nanoseconds begin_;  // of the trace
  // By block: whether it is on the way, and when it was accessed last, in accesses.
  std::vector<bool> on_the_way_;
  Pages<std::uint64_t> accessed_;
  std::uint64_t accesses_ = 0;
  std::deque<Transfer> queue_;
  std::uint64_t now_ = 0;  // ns since the trace began, as far as it is known
  // When the first of the queue got the link for its next block, in ns since the trace began.
  std::uint64_t link_free_ = 0;
  std::vector<Sent> sent_;                              // by VM
  std::vector<std::vector<TierCounters>> tier_counts_;  // by VM: transfers and what was remote
};

// A filter a host, each asked about the blocks of the VMs that are on it.
class FilterByHost final : public AdmissionFilter {
 public:
  FilterByHost(std::vector<std::unique_ptr<AdmissionFilter>> filters, HostOfVm host_of,
               const Accesses& trace)
      : filters_(std::move(filters)), host_of_(std::move(host_of)), owners_(trace) {}

  void record(BlockId block) override { of(block).record(block); }
  void evicted(BlockId block) override { of(block).evicted(block); }
  bool admits(const Candidate& candidate) override { return of(candidate.block).admits(candidate); }
  std::optional<Count> staged_ns() const override { return filters_[0]->staged_ns(); }
  bool has_data(BlockId block) const override { return of(block).has_data(block); }
  void drop_data(BlockId block) override { of(block).drop_data(block); }

 private:
  AdmissionFilter& of(BlockId block) const { return *filters_[(*host_of_)[owners_.vm_of(block)]]; }

  std::vector<std::unique_ptr<AdmissionFilter>> filters_;
  HostOfVm host_of_;
  BlockOwners owners_;
};

}  // namespace mcsim
