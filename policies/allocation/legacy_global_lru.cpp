#include "policies/allocation/legacy_global_lru.hpp"

#include <vector>

#include "core/containers/dense_list.hpp"

namespace mcsim {
namespace {

class LegacyGlobalLru final : public Host {
 public:
  LegacyGlobalLru(const Machine& machine, const Accesses& trace)
      : first_(trace.id_count()),
        second_(trace.id_count()),
        first_capacity_(machine.tiers[0].capacity_blocks),
        second_capacity_(machine.tiers[1].capacity_blocks),
        owner_(trace.id_count()),
        counters_(trace.vms.size()) {
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      const VmInfo& info = trace.vms[vm];
      std::fill_n(owner_.begin() + info.first_id, info.unique_blocks, static_cast<VmId>(vm));
      ids_.push_back({info.first_id, info.first_id + static_cast<BlockId>(info.unique_blocks)});
      counters_[vm].tiers.resize(2);
      counters_[vm].tiers[0].target = first_capacity_;
      counters_[vm].tiers[1].target = second_capacity_;
    }
  }

  void replay(const Accesses& trace, RequestRange range) override {
    for (std::size_t r = range.begin; r < range.end; ++r) {
      VmCounters& vm = counters_[trace.request_vm[r]];
      const bool write = trace.request_op[r] != 0;
      std::size_t slowest = 0;
      for (const BlockId id : trace.blocks_of(r)) {
        const std::size_t tier = serve(vm, id);
        count(vm, tier, write);
        slowest = std::max(slowest, write ? kBackend : tier);
      }
      if (trace.blocks_of(r).empty()) continue;
      ++vm.served(write ? Op::kWrite : Op::kRead).requests[slowest];
    }
  }

  absl::Status resize(const Allocation&) override {
    return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
  }

  // Of which the authors' code knows nothing.
  void release(std::size_t vm) override {
    const auto drop = [&](DenseList& list, BlockId id, TierCounters& of) {
      if (!list.contains(id)) return;
      list.erase(id);
      ++of.invalidations;
      --of.occupancy;
    };
    for (BlockId id = ids_[vm].first; id < ids_[vm].second; ++id) {
      drop(first_, id, counters_[vm].tiers[0]);
      drop(second_, id, counters_[vm].tiers[1]);
    }
  }

  std::vector<VmCounters> counters() const override { return counters_; }

  absl::Status check_invariants() const override {
    Count held_first = 0;
    Count held_second = 0;
    for (const VmCounters& vm : counters_) {
      held_first += vm.tiers[0].occupancy;
      held_second += vm.tiers[1].occupancy;
    }
    if (held_first != first_.size() || held_second != second_.size() ||
        held_first > first_capacity_ || held_second > second_capacity_) {
      return internal_error("legacy global LRU: holds {} + {} blocks, counted {} + {}",
                            first_.size(), second_.size(), held_first, held_second);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr std::size_t kBackend = 2;

  // The tier that had the block.
  std::size_t serve(VmCounters& vm, BlockId id) {
    if (second_.contains(id)) {
      ++vm.tiers[1].moved_up;
      --vm.tiers[1].occupancy;
      second_.erase(id);
      if (first_.contains(id)) return 1;
      ++vm.tiers[0].promotions;
      insert(vm, id);
      return 1;
    }
    if (first_.contains(id)) {
      first_.erase(id);
      first_.push_back(id);
      return 0;
    }
    ++vm.tiers[0].fills;
    insert(vm, id);
    return kBackend;
  }

  // Writes go through to the backend and wait for it.
  static void count(VmCounters& vm, std::size_t tier, bool write) {
    const Count written = write ? 1 : 0;
    ++vm.accesses;
    vm.writes += written;
    vm.backend_writes += written;
    ++vm.served(write ? Op::kWrite : Op::kRead).blocks[write ? kBackend : tier];
    if (tier == kBackend) {
      ++vm.misses;
      vm.write_misses += written;
      vm.backend_reads += 1 - written;
    } else {
      ++vm.tiers[tier].hits;
      vm.tiers[tier].write_hits += written;
      vm.tiers[0].updates += tier == 0 ? written : 0;
    }
  }

  void insert(VmCounters& vm, BlockId id) {
    first_.push_back(id);
    ++vm.tiers[0].occupancy;
    if (first_.size() > first_capacity_) {
      drop_oldest(first_, 0);
      second_.push_back(id);
      ++vm.tiers[1].fills;
      ++vm.tiers[1].occupancy;
      if (second_.size() > second_capacity_) drop_oldest(second_, 1);
    }
  }

  void drop_oldest(DenseList& list, std::size_t tier) {
    TierCounters& of = counters_[owner_[list.pop_front()]].tiers[tier];
    ++of.evictions;
    --of.occupancy;
  }

  DenseList first_;   // oldest first
  DenseList second_;  // oldest first
  Count first_capacity_;
  Count second_capacity_;
  std::vector<VmId> owner_;                       // by block
  std::vector<std::pair<BlockId, BlockId>> ids_;  // by VM: first, and one past the last
  std::vector<VmCounters> counters_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> make_legacy_global_lru(const Machine& machine,
                                                             const Accesses& trace) {
  if (machine.tiers.size() != 2) {
    return invalid_argument("legacy: the authors' code has exactly 2 tiers, got {}",
                            machine.tiers.size());
  }
  return std::make_unique<LegacyGlobalLru>(machine, trace);
}

}  // namespace mcsim
