#include "policies/allocation/multicache/legacy_global_lru.hpp"

#include <algorithm>
#include <vector>

#include "core/containers/recency_log.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"

namespace mcsim {
namespace {

// Prefetch distance, in accesses.
constexpr std::size_t kAhead = 24;

// The blocks of a tier, ordered by their last append.
class Order {
 public:
  Order(std::size_t universe, Count capacity) : Order(universe, stacks(universe, capacity)) {}

  // Return the number of log entries that it needs.
  static std::uint64_t entries(std::size_t universe, Count capacity) {
    const std::uint64_t most = most_blocks(universe, capacity);
    return RecencyLog<1>::entries({&most, 1});
  }

  bool contains(BlockId id) const { return log_.contains(id); }
  Count size() const { return size_; }
  void append(BlockId id) { size_ += static_cast<Count>(log_.access(stack_, id)); }
  void erase(BlockId id) {
    log_.remove(stack_, id);
    --size_;
  }
  BlockId drop_oldest() {
    --size_;
    return log_.demote(stack_, 0);
  }
  void prefetch(BlockId id) const { log_.prefetch(id); }

 private:
  using Stacks = std::vector<RecencyLog<1>::Stack>;

  Order(std::size_t universe, const Stacks& one) : log_(universe, one), stack_(one.front()) {}

  static std::uint64_t most_blocks(std::size_t universe, Count capacity) {
    return std::min(universe, static_cast<std::size_t>(capacity)) + 1;
  }
  static Stacks stacks(std::size_t universe, Count capacity) {
    const std::uint64_t most = most_blocks(universe, capacity);
    return RecencyLog<1>::stacks({&most, 1});
  }

  RecencyLog<1> log_;
  RecencyLog<1>::Stack stack_;
  Count size_ = 0;
};

class LegacyGlobalLru final : public Host {
 public:
  LegacyGlobalLru(const Machine& machine, const Accesses& trace)
      : first_(trace.id_count(), machine.tiers[0].capacity_blocks),
        second_(trace.id_count(), machine.tiers[1].capacity_blocks),
        first_capacity_(machine.tiers[0].capacity_blocks),
        second_capacity_(machine.tiers[1].capacity_blocks),
        owners_(trace),
        counters_(trace.vms.size()) {
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      counters_[vm].tiers.resize(2);
      counters_[vm].tiers[0].target = first_capacity_;
      counters_[vm].tiers[1].target = second_capacity_;
    }
  }

  void replay(const Accesses& trace, RequestRange range) override {
    const std::span<const BlockId> ids(trace.ids);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      VmCounters& vm = counters_[trace.request_vm[r]];
      const bool write = trace.request_op[r] != 0;
      std::size_t slowest = 0;
      MissedBlocks missed;
      for (std::size_t i = trace.request_begin[r]; i < trace.request_begin[r + 1]; ++i) {
        const BlockId ahead = ids[std::min(i + kAhead, ids.size() - 1)];
        first_.prefetch(ahead);
        second_.prefetch(ahead);
        const std::size_t tier = serve(vm, ids[i]);
        count(vm, tier, write);
        if (backend_log_ != nullptr && (write || tier == kBackend))
          backend_log_->push(Op{write}, ids[i]);
        slowest = std::max(slowest, write ? kBackend : tier);
        missed.note(i == trace.request_begin[r], tier == kBackend);
      }
      if (trace.blocks_of(r).empty()) continue;
      count_request(trace, r, missed, vm);
      ++vm.served(write ? Op::kWrite : Op::kRead).requests[slowest];
    }
  }

  absl::Status resize(const Allocation&) override {
    return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
  }

  absl::Status attach(const Observers& observers) override {
    backend_log_ = observers.log;
    return refuse_probe(observers);
  }

  // Release is not part of the authors' code.
  void release(VmId vm) override {
    for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) drop(vm, id);
  }
  void discard(std::span<const BlockId> blocks) override {
    for (const BlockId id : blocks) drop(owners_.vm_of(id), id);
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

  void drop(VmId vm, BlockId id) {
    for (std::size_t k = 0; k < kBackend; ++k) {
      Order& list = k == 0 ? first_ : second_;
      if (!list.contains(id)) continue;
      list.erase(id);
      ++counters_[vm].tiers[k].invalidations;
      --counters_[vm].tiers[k].occupancy;
    }
  }

  // Serve an access and return the tier that held the block.
  std::size_t serve(VmCounters& vm, BlockId id) {
    if (second_.contains(id)) {
      if (first_capacity_ == 0) {
        second_.append(id);
        return 1;
      }
      ++vm.tiers[1].moved_up;
      --vm.tiers[1].occupancy;
      second_.erase(id);
      if (first_.contains(id)) return 1;
      ++vm.tiers[0].promotions;
      insert(vm, id);
      return 1;
    }
    if (first_.contains(id)) {
      first_.append(id);
      return 0;
    }
    if (first_capacity_ > 0) {
      ++vm.tiers[0].fills;
      insert(vm, id);
    } else if (second_capacity_ > 0) {
      insert_below(vm, id);
    }
    return kBackend;
  }

  // Count an access. Writes go through to the backend and wait for it.
  void count(VmCounters& vm, std::size_t tier, bool write) const {
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
      vm.tiers[tier].updates += tier == 0 || first_capacity_ == 0 ? written : 0;
    }
  }

  void insert(VmCounters& vm, BlockId id) {
    first_.append(id);
    ++vm.tiers[0].occupancy;
    if (first_.size() > first_capacity_) {
      drop_oldest(first_, 0);
      if (second_capacity_ > 0) insert_below(vm, id);
    }
  }

  // Insert the accessed block into the second tier too, as the authors' code does.
  void insert_below(VmCounters& vm, BlockId id) {
    second_.append(id);
    ++vm.tiers[1].fills;
    ++vm.tiers[1].occupancy;
    if (second_.size() > second_capacity_) drop_oldest(second_, 1);
  }

  void drop_oldest(Order& list, std::size_t tier) {
    TierCounters& of = counters_[owners_.vm_of(list.drop_oldest())].tiers[tier];
    ++of.evictions;
    --of.occupancy;
  }

  Order first_;
  Order second_;
  Count first_capacity_;
  Count second_capacity_;
  BlockOwners owners_;
  std::vector<VmCounters> counters_;
  BackendLog* backend_log_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> make_legacy_global_lru(const Machine& machine,
                                                             const Accesses& trace) {
  if (machine.tiers.size() != 2) {
    return invalid_argument("legacy: the authors' code has exactly 2 tiers, got {}",
                            machine.tiers.size());
  }
  for (const TierSpec& tier : machine.tiers) {
    const std::uint64_t entries = Order::entries(trace.id_count(), tier.capacity_blocks);
    if (entries < kNoBlock) continue;
    return absl::ResourceExhaustedError(
        fmt::format("legacy: tier {} needs {} log entries, more than 2^32: use a larger block size",
                    tier.device.name, entries));
  }
  return std::make_unique<LegacyGlobalLru>(machine, trace);
}

}  // namespace mcsim
