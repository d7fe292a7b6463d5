#include "core/engine/exclusive_lru.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/containers/recency_log.hpp"

namespace mcsim {
namespace {

// How far ahead of the replay memory is asked for: far enough to arrive in
// time, near enough to still be there.
constexpr std::size_t kLastAhead = 32;
constexpr std::size_t kEntryAhead = 16;

// Who shares space with whom.
enum class Sharing : std::uint8_t {
  kShared,       // one LRU stack for all VMs
  kPartitioned,  // one LRU stack per VM, each tier divided by targets
};

template <int kTiers>
class ExclusiveLru final : public Host {
 public:
  using Log = RecencyLog<kTiers>;

  ExclusiveLru(const Machine& machine, const Accesses& trace, Sharing sharing, PartitionRules rules,
               const Allocation& initial, std::span<const std::uint64_t> most_blocks)
      : log_(trace.id_count(), most_blocks),
        sharing_(sharing),
        rules_(rules),
        vms_(trace.vms.size()),
        targets_(initial),
        held_(vms_ * kTiers, 0),
        tallies_(vms_),
        demotions_(vms_ * kTiers, 0),
        invalidations_(vms_ * kTiers, 0),
        evictions_(vms_, 0) {
    for (std::size_t k = 0; k < kTiers; ++k) capacity_[k] = machine.tiers[k].capacity_blocks;
    for (const VmInfo& vm : trace.vms) first_id_.push_back(vm.first_id);
    first_id_.push_back(static_cast<BlockId>(trace.id_count()));
  }

  void replay(const Accesses& trace, RequestRange range) override {
    if (sharing_ == Sharing::kShared) {
      replay_as<Sharing::kShared>(trace, range);
    } else {
      replay_as<Sharing::kPartitioned>(trace, range);
    }
  }

  absl::Status resize(const Allocation& targets) override {
    if (sharing_ == Sharing::kShared) {
      return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
    }
    MCSIM_RETURN_IF_ERROR(check_targets(targets));
    targets_ = targets;
    if (rules_.mode != ResizeMode::kEager) return absl::OkStatus();
    for (std::size_t k = 0; k < kTiers; ++k) {
      for (std::size_t vm = 0; vm < vms_; ++vm) {
        while (held(vm, k) > targets_.at(k, vm)) demote<Sharing::kPartitioned>(vm, k);
      }
    }
    return absl::OkStatus();
  }

  void release(std::size_t vm) override {
    const std::size_t stack = sharing_ == Sharing::kShared ? 0 : vm;
    for (BlockId id = first_id_[vm]; id < first_id_[vm + 1]; ++id) {
      const auto tier = static_cast<std::size_t>(log_.remove(stack, id));
      if (tier == kTiers) continue;
      gain(vm, tier, -1);
      ++invalidations_[vm * kTiers + tier];
    }
  }

  absl::Status check_targets(const Allocation& targets) const {
    if (targets.tiers() != kTiers || targets.vms() != vms_) {
      return invalid_argument("targets: expected {} tiers x {} VMs, got {} x {}", kTiers, vms_,
                              targets.tiers(), targets.vms());
    }
    for (std::size_t k = 0; k < kTiers; ++k) {
      Count granted = 0;
      for (const Count blocks : targets.tier(k)) {
        if (blocks < 0) return invalid_argument("targets: tier {} grants {} blocks", k, blocks);
        granted += blocks;
      }
      if (granted > capacity_[k]) {
        return invalid_argument("targets: tier {} grants {} blocks of {}", k, granted,
                                capacity_[k]);
      }
    }
    return absl::OkStatus();
  }

  std::vector<VmCounters> counters() const override {
    std::vector<VmCounters> all(vms_);
    for (std::size_t vm = 0; vm < vms_; ++vm) {
      VmCounters& of = all[vm];
      count_accesses(vm, of);
      for (std::size_t k = 0; k < kTiers; ++k) {
        TierCounters& tier = of.tiers[k];
        tier.demotions = demotions_[vm * kTiers + k];
        tier.moved_up = k == 0 ? 0 : tier.hits;
        tier.moved_down = k + 1 < kTiers ? demotions_[vm * kTiers + k + 1] : 0;
        tier.invalidations = invalidations_[vm * kTiers + k];
        tier.occupancy = held(vm, k);
        tier.target = sharing_ == Sharing::kShared ? capacity_[k] : targets_.at(k, vm);
        of.tiers[0].promotions += tier.moved_up;
      }
      of.tiers[0].fills = of.misses;
      of.tiers[0].updates = of.tiers[0].write_hits;
      of.tiers[kTiers - 1].evictions = evictions_[vm];
    }
    return all;
  }

  absl::Status check_invariants() const override {
    std::vector<Count> found(vms_ * kTiers, 0);
    for (std::size_t s = 0; s < stack_count(); ++s) {
      if (!log_.consistent(s))
        return internal_error("exclusive LRU: the log of stack {} is torn", s);
      log_.for_each(s, [&](std::size_t tier, BlockId id) { ++found[tier * vms_ + vm_of(id)]; });
    }
    if (found != held_)
      return internal_error("exclusive LRU: occupancies disagree with the stacks");
    for (std::size_t k = 0; k < kTiers; ++k) {
      Count sum = 0;
      for (std::size_t vm = 0; vm < vms_; ++vm) sum += held(vm, k);
      if (sum != total_[k] || sum > capacity_[k]) {
        return internal_error("exclusive LRU: tier {} holds {} blocks of {}, counted {}", k, sum,
                              capacity_[k], total_[k]);
      }
    }
    return absl::OkStatus();
  }

 private:
  template <Sharing kSharing>
  void replay_as(const Accesses& trace, RequestRange range) {
    const std::span<const BlockId> ids(trace.ids);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const std::size_t vm = trace.request_vm[r];
      OpTally& tally = tallies_[vm].of[trace.request_op[r]];
      std::size_t slowest = 0;
      for (std::size_t i = trace.request_begin[r]; i < trace.request_begin[r + 1]; ++i) {
        if (i + kLastAhead < ids.size()) {
          log_.prefetch_last(ids[i + kLastAhead]);
          log_.prefetch_entry(ids[i + kEntryAhead]);
        }
        const std::size_t tier = serve<kSharing>(vm, ids[i]);
        ++tally.found[tier];
        slowest = std::max(slowest, tier);
      }
      tally.requests[slowest] += trace.request_begin[r + 1] > trace.request_begin[r] ? 1 : 0;
    }
  }

  // The tier that had the block, kTiers if none.
  template <Sharing kSharing>
  std::size_t serve(std::size_t vm, BlockId id) {
    const auto tier = static_cast<std::size_t>(log_.access(stack_of<kSharing>(vm), id));
    if (tier == 0) return tier;
    if (tier < kTiers) gain(vm, tier, -1);
    gain(vm, 0, +1);
    settle<kSharing>(vm);
    return tier;
  }

  // Called when `vm` got a block in a tier: pushes blocks down until the tier
  // keeps to its capacity and the mode. A tier that had room ends the chain.
  template <Sharing kSharing, std::size_t kTier = 0>
  void settle(std::size_t vm) {
    if constexpr (kTier < kTiers) {
      if constexpr (kSharing == Sharing::kPartitioned) {
        if (rules_.mode != ResizeMode::kLazy) {
          while (held(vm, kTier) > targets_.at(kTier, vm)) push_down<kSharing, kTier>(vm);
        }
      }
      while (total_[kTier] > capacity_[kTier]) {
        push_down<kSharing, kTier>(victim<kSharing>(vm, kTier));
      }
    }
  }

  template <Sharing kSharing, std::size_t kTier>
  void push_down(std::size_t vm) {
    demote<kSharing>(vm, kTier);
    settle<kSharing, kTier + 1>(vm);
  }

  // The VM that gives a block of a tier that is over its capacity. Targets sum to
  // at most the capacity, so at least one VM is over its own.
  template <Sharing kSharing>
  std::size_t victim(std::size_t vm, std::size_t tier) const {
    if constexpr (kSharing == Sharing::kShared) return vm;
    const Count* held_of = &held_[tier * vms_];
    const Count* target_of = targets_.tier(tier).data();
    std::size_t worst = 0;
    Count excess = std::numeric_limits<Count>::min();
    for (std::size_t other = 0; other < vms_; ++other) {
      const Count over = held_of[other] - target_of[other];
      if (over > 0 && rules_.victim == VictimRule::kFirstOver) return other;
      if (over > excess) {
        excess = over;
        worst = other;
      }
    }
    return worst;
  }

  template <Sharing kSharing>
  void demote(std::size_t vm, std::size_t tier) {
    const BlockId id = log_.demote(stack_of<kSharing>(vm), tier);
    const std::size_t owner = kSharing == Sharing::kShared ? vm_of(id) : vm;
    gain(owner, tier, -1);
    if (tier + 1 == kTiers) {
      ++evictions_[owner];
    } else {
      gain(owner, tier + 1, +1);
      ++demotions_[owner * kTiers + tier + 1];
    }
  }

  void gain(std::size_t vm, std::size_t tier, Count blocks) {
    held_[tier * vms_ + vm] += blocks;
    total_[tier] += blocks;
  }

  Count held(std::size_t vm, std::size_t tier) const { return held_[tier * vms_ + vm]; }

  template <Sharing kSharing>
  static std::size_t stack_of(std::size_t vm) {
    return kSharing == Sharing::kShared ? 0 : vm;
  }
  std::size_t stack_count() const { return sharing_ == Sharing::kShared ? 1 : vms_; }

  std::size_t vm_of(BlockId id) const {
    std::size_t vm = 0;
    for (std::size_t next = 1; next < vms_; ++next) vm += first_id_[next] <= id;
    return vm;
  }

  // Accesses and requests of one VM and operation, by the tier that had the (slowest)
  // block; the last entry: none.
  struct OpTally {
    std::array<Count, kTiers + 1> found{};
    std::array<Count, kTiers + 1> requests{};
  };
  struct Tally {
    std::array<OpTally, 2> of;
  };

  // Hits and misses; writes go through to the backend and wait for it.
  void count_accesses(std::size_t vm, VmCounters& of) const {
    const auto& [reads, writes] = tallies_[vm].of;
    of.tiers.resize(kTiers);
    for (std::size_t k = 0; k <= kTiers; ++k) {
      of.accesses += reads.found[k] + writes.found[k];
      of.writes += writes.found[k];
      of.reads_served.blocks[k] = reads.found[k];
      of.reads_served.requests[k] = reads.requests[k];
      of.writes_served.requests[kTiers] += writes.requests[k];
      if (k == kTiers) break;
      of.tiers[k].hits = reads.found[k] + writes.found[k];
      of.tiers[k].write_hits = writes.found[k];
    }
    of.writes_served.blocks[kTiers] = of.writes;
    of.misses = reads.found[kTiers] + writes.found[kTiers];
    of.write_misses = writes.found[kTiers];
    of.backend_reads = reads.found[kTiers];
    of.backend_writes = of.writes;
  }

  Log log_;
  Sharing sharing_;
  PartitionRules rules_;
  std::size_t vms_;
  std::array<Count, kTiers> capacity_{};
  std::array<Count, kTiers> total_{};
  Allocation targets_;
  std::vector<BlockId> first_id_;     // by VM, and where those of the last end
  std::vector<Count> held_;           // [tier][vm], as targets_
  std::vector<Tally> tallies_;        // by VM
  std::vector<Count> demotions_;      // [vm][tier]: came down into that tier
  std::vector<Count> invalidations_;  // [vm][tier]: left with their VM
  std::vector<Count> evictions_;      // [vm]: left the last tier
};

// The most blocks each stack can come to hold.
std::vector<std::uint64_t> most_blocks(const Machine& machine, const Accesses& trace,
                                       Sharing sharing) {
  std::uint64_t room = 1;
  for (const TierSpec& tier : machine.tiers)
    room += static_cast<std::uint64_t>(tier.capacity_blocks);
  if (sharing == Sharing::kShared) return {std::min<std::uint64_t>(room, trace.id_count())};
  std::vector<std::uint64_t> most;
  for (const VmInfo& vm : trace.vms) {
    most.push_back(std::min(room, static_cast<std::uint64_t>(vm.unique_blocks)));
  }
  return most;
}

template <int kTiers>
absl::StatusOr<std::unique_ptr<Host>> make(const Machine& machine, const Accesses& trace,
                                           Sharing sharing, PartitionRules rules,
                                           const Allocation& targets) {
  const std::vector<std::uint64_t> most = most_blocks(machine, trace, sharing);
  std::uint64_t entries = 1;
  for (const std::uint64_t blocks : most) entries += RecencyLog<kTiers>::segment_size(blocks);
  if (entries >= kNoBlock) {
    return absl::ResourceExhaustedError(fmt::format(
        "the stacks need {} log entries, more than 2^32: use a larger block size", entries));
  }
  auto host = std::make_unique<ExclusiveLru<kTiers>>(machine, trace, sharing, rules, targets, most);
  if (sharing == Sharing::kPartitioned) MCSIM_RETURN_IF_ERROR(host->check_targets(targets));
  return host;
}

using Maker = absl::StatusOr<std::unique_ptr<Host>> (*)(const Machine&, const Accesses&, Sharing,
                                                        PartitionRules, const Allocation&);

template <std::size_t... kIndex>
constexpr std::array<Maker, sizeof...(kIndex)> makers(std::index_sequence<kIndex...>) {
  return {make<static_cast<int>(kIndex) + 1>...};
}

// The number of tiers becomes a template argument here, once per run.
absl::StatusOr<std::unique_ptr<Host>> make_for_tiers(const Machine& machine, const Accesses& trace,
                                                     Sharing sharing, PartitionRules rules,
                                                     const Allocation& targets) {
  static constexpr auto kMakers = makers(std::make_index_sequence<kMaxTiers>{});
  if (machine.tiers.empty() || machine.tiers.size() > kMaxTiers) {
    return invalid_argument("tiers: expected 1 to {}, got {}", kMaxTiers, machine.tiers.size());
  }
  for (const TierSpec& tier : machine.tiers) {
    if (tier.capacity_blocks < 0) {
      return invalid_argument("tier {}: capacity {} is negative", tier.device.name,
                              tier.capacity_blocks);
    }
  }
  return kMakers[machine.tiers.size() - 1](machine, trace, sharing, rules, targets);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine,
                                                      const Accesses& trace) {
  return make_for_tiers(machine, trace, Sharing::kShared, {}, {});
}

absl::StatusOr<std::unique_ptr<Host>> make_partitioned_lru(const Machine& machine,
                                                           const Accesses& trace,
                                                           const Allocation& targets,
                                                           PartitionRules rules) {
  return make_for_tiers(machine, trace, Sharing::kPartitioned, rules, targets);
}

}  // namespace mcsim
