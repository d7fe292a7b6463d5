#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "core/base/pages.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/tiers/admission.hpp"
#include "core/engine/tiers/block_owners.hpp"

namespace mcsim {

// By VM: the index of its host.
using HostOfVm = std::shared_ptr<std::vector<std::size_t>>;

// Several hosts. Every VM has a part of its own in each tier, so hosts do not interact. One
// TieredHost simulates all hosts: a host is the set of its VMs, with targets that sum to at most
// its capacity.
//
// A VM that migrates keeps its part: its blocks keep their order and their space. But they are on
// the way until they have come over. Blocks are transferred in the background, the last accessed
// first. The link serves one VM at a time, in the order of the migrations. Blocks also come over on
// demand, all blocks of a request at once:
//
//   a read of a dirty block   is served by the other host, and the block comes over
//   a read of a clean block   misses: it stays behind (OnDemand::kAll: as if dirty)
//   a write                   outdates the block: it stays behind, and is written here
//
// Evictions and write-backs of blocks on the way are done by the host that still has them. If the
// VM migrates again, its blocks on the way stay behind.
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
  absl::Status attach(const Observers& observers) override { return tiers_->attach(observers); }
  void release(VmId vm) override;
  void discard(std::span<const BlockId> blocks) override;
  absl::Status failure() const override { return tiers_->failure(); }
  std::vector<VmCounters> counters() const override;
  absl::Status save(ArchiveWriter& to) override;
  absl::Status load(ArchiveReader& from) override;
  absl::Status check_invariants() const override;

 private:
  using HostIndices = std::vector<std::size_t>;

  // The blocks of one VM that are still to come.
  struct Transfer {
    VmId vm;
    std::uint64_t every;           // ns a block
    std::vector<BlockId> to_come;  // the last first; includes blocks that came or stay behind

    void save(ArchiveWriter& to) { to(vm, every, to_come); }
    void load(ArchiveReader& from) {
      from(vm, every);
      to_come = from.read_blocks();
    }
  };
  struct Sent {
    Count sent = 0;
    Count transferred = 0;
    Count on_demand = 0;
    Count left_behind = 0;
    OnDemand rule = OnDemand::kDirty;

    auto state() { return std::tie(sent, transferred, on_demand, left_behind, rule); }
    bool under_way() const { return sent > transferred + on_demand + left_behind; }
  };

  FleetHost(std::unique_ptr<TieredHost> tiers, const Machine& machine, const Accesses& trace,
            HostOfVm host_of);

  absl::Status check_moves(std::span<const Migration> migrations, HostIndices& host_of) const;
  absl::Status check_hosts(const Allocation& targets, const HostIndices& host_of) const;
  void send(const Migration& migration);
  void stop(VmId vm);

  // Saturates, since the link may be slow enough to overflow.
  std::uint64_t next_slot() const {
    const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - link_free_;
    return link_free_ + std::min(left, queue_.front().every);
  }
  void receive(std::uint64_t now);
  bool has_more(Transfer& transfer);
  void fetch_from_old_host(const Accesses& trace, std::size_t request);
  bool fetch(VmId vm, BlockId block, Op op);
  bool has_block_on_the_way(const Accesses& trace, std::size_t request) const;
  std::size_t end_without_transfer(const Accesses& trace, RequestRange range) const;

  bool is_on_the_way(BlockId block) const { return on_the_way_[block]; }
  bool still_held(VmId vm, BlockId block) const {
    return tiers_->fastest_with(vm, block) < capacities_.size();
  }
  // Return whether the block on the way was evicted from the cache; if so, it stays behind.
  bool was_evicted(VmId vm, BlockId block);
  void come_over(VmId vm, BlockId block, bool on_demand);
  void leave_behind(VmId vm, BlockId block);

  // Two times of a trace may differ by more than Nanoseconds can represent.
  std::uint64_t since_begin(Nanoseconds time) const;

  std::unique_ptr<TieredHost> tiers_;
  std::vector<std::string> hosts_;
  std::vector<std::string> vms_;
  Link link_;
  std::vector<Count> capacities_;  // of one host, by tier
  HostOfVm host_of_;
  BlockOwners owners_;
  Nanoseconds begin_;  // of the trace
  // By block: whether it is on the way, and the number of its last access.
  std::vector<bool> on_the_way_;
  Pages<std::uint64_t> accessed_;
  std::uint64_t accesses_ = 0;
  std::deque<Transfer> queue_;
  std::uint64_t now_ = 0;  // ns since the trace began, as far as processed
  // When the first transfer of the queue got the link for its next block, in ns since the trace
  // began.
  std::uint64_t link_free_ = 0;
  std::vector<Sent> sent_;                              // by VM
  std::vector<std::vector<TierCounters>> tier_counts_;  // by VM: transfers and remote reads
};

// One filter per host, called for the blocks of the VMs on that host.
class FilterByHost final : public AdmissionFilter {
 public:
  FilterByHost(std::vector<std::unique_ptr<AdmissionFilter>> filters, HostOfVm host_of,
               const Accesses& trace)
      : filters_(std::move(filters)), host_of_(std::move(host_of)), owners_(trace) {}

  bool reads_addresses() const override { return filters_[0]->reads_addresses(); }
  void record(const Access<>& a) override { of(a.block).record(a); }
  void evicted(BlockId block) override { of(block).evicted(block); }
  bool admits(const Access<>& a, bool full) override { return of(a.block).admits(a, full); }
  std::optional<Count> staged_ns() const override { return filters_[0]->staged_ns(); }
  bool has_data(BlockId block) const override { return of(block).has_data(block); }
  void drop_data(BlockId block) override { of(block).drop_data(block); }
  absl::Status save(ArchiveWriter& to) override {
    for (const auto& filter : filters_) MCSIM_RETURN_IF_ERROR(filter->save(to));
    return absl::OkStatus();
  }
  absl::Status load(ArchiveReader& from) override {
    for (const auto& filter : filters_) MCSIM_RETURN_IF_ERROR(filter->load(from));
    return absl::OkStatus();
  }

 private:
  AdmissionFilter& of(BlockId block) const { return *filters_[(*host_of_)[owners_.vm_of(block)]]; }

  std::vector<std::unique_ptr<AdmissionFilter>> filters_;
  HostOfVm host_of_;
  BlockOwners owners_;
};

}  // namespace mcsim
