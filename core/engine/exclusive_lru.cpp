#include "core/engine/exclusive_lru.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/containers/recency_log.hpp"

namespace mcsim {
namespace {

// How many accesses ahead of the replay memory is asked for: far enough to arrive in
// time, near enough to still be there.
constexpr std::size_t kAhead = 24;

// Who shares space with whom.
enum class Sharing : std::uint8_t {
  kShared,     // one LRU stack for all VMs
  kApart,      // one per VM, and each keeps to its targets at any moment
  kContended,  // one per VM, and space that one does not use another may
};

template <int kTiers>
class ExclusiveLru final : public Host {
 public:
  using Log = RecencyLog<kTiers>;
  using Stack = typename Log::Stack;

  // `stacks`: one for all VMs or one for each.
  ExclusiveLru(const Machine& machine, const Accesses& trace, Sharing sharing, PartitionRules rules,
               std::span<const Stack> stacks)
      : log_(trace.id_count(), stacks), sharing_(sharing), rules_(rules), shared_(stacks.front()) {
    for (std::size_t k = 0; k < kTiers; ++k) capacity_[k] = machine.tiers[k].capacity_blocks;
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      vms_.push_back({.stack = stacks[std::min(vm, stacks.size() - 1)]});
      first_id_.push_back(trace.vms[vm].first_id);
    }
    first_id_.push_back(static_cast<BlockId>(trace.id_count()));
  }

  void replay(const Accesses& trace, RequestRange range) override {
    switch (sharing_) {
      case Sharing::kShared:
        return replay_as<Sharing::kShared>(trace, range);
      case Sharing::kApart:
        return replay_as<Sharing::kApart>(trace, range);
      case Sharing::kContended:
        return replay_as<Sharing::kContended>(trace, range);
    }
  }

  absl::Status resize(const Allocation& targets) override {
    if (sharing_ == Sharing::kShared) {
      return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
    }
    MCSIM_RETURN_IF_ERROR(check_targets(targets));
    for (std::size_t k = 0; k < kTiers; ++k) {
      for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
        Vm& of = vms_[vm];
        of.target[k] = targets.at(k, vm);
        if (sharing_ != Sharing::kApart) continue;
        while (of.held[k] > of.target[k]) demote<Sharing::kApart>(of, k);
      }
    }
    return absl::OkStatus();
  }

  void release(std::size_t vm) override {
    Vm& of = vms_[vm];
    const Stack& stack = sharing_ == Sharing::kShared ? shared_ : of.stack;
    for (BlockId id = first_id_[vm]; id < first_id_[vm + 1]; ++id) {
      const std::size_t tier = log_.remove(stack, id);
      if (tier == kTiers) continue;
      gain<Sharing::kContended>(of, tier, -1);  // of the totals, where they are counted, too
      ++of.invalidations[tier];
    }
  }

  std::vector<VmCounters> counters() const override {
    std::vector<VmCounters> all(vms_.size());
    for (std::size_t v = 0; v < all.size(); ++v) {
      const Vm& vm = vms_[v];
      VmCounters& of = all[v];
      count_accesses(vm, of);
      for (std::size_t k = 0; k < kTiers; ++k) {
        TierCounters& tier = of.tiers[k];
        tier.demotions = vm.demotions[k];
        tier.moved_up = k == 0 ? 0 : tier.hits;
        tier.moved_down = k + 1 < kTiers ? vm.demotions[k + 1] : 0;
        tier.invalidations = vm.invalidations[k];
        tier.occupancy = vm.held[k];
        tier.target = sharing_ == Sharing::kShared ? capacity_[k] : vm.target[k];
        of.tiers[0].promotions += tier.moved_up;
      }
      of.tiers[0].fills = of.misses;
      of.tiers[0].updates = of.tiers[0].write_hits;
      of.tiers[kTiers - 1].evictions = vm.demotions[kTiers];
    }
    return all;
  }

  absl::Status check_invariants() const override {
    std::vector<std::array<Count, kTiers>> found(vms_.size());
    const auto count = [&](std::size_t tier, BlockId id) { ++found[vm_of(id)][tier]; };
    for (std::size_t s = 0; s < stack_count(); ++s) {
      const Stack& stack = sharing_ == Sharing::kShared ? shared_ : vms_[s].stack;
      if (!log_.consistent(stack)) {
        return internal_error("exclusive LRU: the log of stack {} is torn", s);
      }
      log_.for_each(stack, count);
    }
    for (std::size_t k = 0; k < kTiers; ++k) {
      Count sum = 0;
      for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
        sum += vms_[vm].held[k];
        if (found[vm][k] == vms_[vm].held[k]) continue;
        return internal_error("exclusive LRU: VM {} has {} blocks in tier {}, counted {}", vm,
                              found[vm][k], k, vms_[vm].held[k]);
      }
      const Count counted = sharing_ == Sharing::kApart ? sum : total_[k];
      if (sum == counted && sum <= capacity_[k]) continue;
      return internal_error("exclusive LRU: tier {} holds {} blocks of {}, counted {}", k, sum,
                            capacity_[k], counted);
    }
    return absl::OkStatus();
  }

 private:
  // Accesses and requests of one VM and operation, by the tier that had the (slowest)
  // block; the last entry: none.
  struct OpTally {
    std::array<Count, kTiers + 1> found{};
    std::array<Count, kTiers + 1> requests{};
  };

  // All that an access needs of its VM, side by side. By tier; the last entry of some:
  // below the last tier.
  struct Vm {
    Stack stack;  // unless shared
    std::array<Count, kTiers + 1> held{};
    std::array<Count, kTiers> target{};
    std::array<Count, kTiers + 1> demotions{};  // came down into that tier
    std::array<OpTally, 2> tallies{};           // by operation
    std::array<Count, kTiers> invalidations{};  // left with their VM
  };

  absl::Status check_targets(const Allocation& targets) const {
    if (targets.tiers() != kTiers || targets.vms() != vms_.size()) {
      return invalid_argument("targets: expected {} tiers x {} VMs, got {} x {}", kTiers,
                              vms_.size(), targets.tiers(), targets.vms());
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

  template <Sharing kSharing>
  void replay_as(const Accesses& trace, RequestRange range) {
    const std::span<const BlockId> ids(trace.ids);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      Vm& vm = vms_[trace.request_vm[r]];
      OpTally& tally = vm.tallies[trace.request_op[r]];
      std::size_t slowest = 0;
      for (std::size_t i = trace.request_begin[r]; i < trace.request_begin[r + 1]; ++i) {
        log_.prefetch(ids[std::min(i + kAhead, ids.size() - 1)]);
        const std::size_t tier = serve<kSharing>(vm, ids[i]);
        ++tally.found[tier];
        slowest = std::max(slowest, tier);
      }
      tally.requests[slowest] += trace.request_begin[r + 1] > trace.request_begin[r] ? 1 : 0;
    }
  }

  // The tier that had the block, kTiers if none.
  template <Sharing kSharing>
  std::size_t serve(Vm& vm, BlockId id) {
    const std::size_t tier = log_.access(stack_of<kSharing>(vm), id);
    if (tier == 0) return tier;
    gain<kSharing>(vm, tier, -1);
    gain<kSharing>(vm, 0, +1);
    settle<kSharing>(vm);
    return tier;
  }

  // Called when `vm` got a block in a tier: pushes blocks down until the tier
  // keeps to its capacity and the mode. A tier that had room ends the chain.
  template <Sharing kSharing, std::size_t kTier = 0>
  void settle(Vm& vm) {
    if constexpr (kTier < kTiers) {
      if constexpr (kSharing == Sharing::kApart) {
        if (vm.held[kTier] > vm.target[kTier]) push_down<kSharing, kTier>(vm);
        return;
      }
      if (kSharing == Sharing::kContended && rules_.mode == ResizeMode::kStrictOwn) {
        while (vm.held[kTier] > vm.target[kTier]) push_down<kSharing, kTier>(vm);
      }
      while (total_[kTier] > capacity_[kTier]) {
        push_down<kSharing, kTier>(kSharing == Sharing::kShared ? vm : donor(kTier));
      }
    }
  }

  template <Sharing kSharing, std::size_t kTier>
  void push_down(Vm& vm) {
    demote<kSharing>(vm, kTier);
    settle<kSharing, kTier + 1>(vm);
  }

  // The VM that gives a block of a tier that is over its capacity. Targets sum to
  // at most the capacity, so at least one VM is over its own. Which one is the furthest
  // nobody can guess: it is selected without branches.
  Vm& donor(std::size_t tier) {
    const auto over = [&](const Vm& vm) { return vm.held[tier] - vm.target[tier]; };
    if (rules_.victim == VictimRule::kFirstOver) {
      return *std::ranges::find_if(vms_, [&](const Vm& vm) { return over(vm) > 0; });
    }
    Vm* furthest = vms_.data();
    Count most = over(*furthest);
    for (Vm& vm : vms_) {
      const Count own = over(vm);
      furthest = own > most ? &vm : furthest;
      most = std::max(most, own);
    }
    return *furthest;
  }

  template <Sharing kSharing>
  void demote(Vm& vm, std::size_t tier) {
    const BlockId id = log_.demote(stack_of<kSharing>(vm), tier);
    Vm& owner = kSharing == Sharing::kShared ? vms_[vm_of(id)] : vm;
    gain<kSharing>(owner, tier, -1);
    gain<kSharing>(owner, tier + 1, +1);
    ++owner.demotions[tier + 1];
  }

  template <Sharing kSharing>
  void gain(Vm& vm, std::size_t tier, Count blocks) {
    vm.held[tier] += blocks;
    if constexpr (kSharing != Sharing::kApart) total_[tier] += blocks;
  }

  template <Sharing kSharing>
  Stack& stack_of(Vm& vm) {
    return kSharing == Sharing::kShared ? shared_ : vm.stack;
  }
  std::size_t stack_count() const { return sharing_ == Sharing::kShared ? 1 : vms_.size(); }

  std::size_t vm_of(BlockId id) const {
    std::size_t vm = 0;
    for (std::size_t next = 1; next < vms_.size(); ++next) vm += first_id_[next] <= id ? 1 : 0;
    return vm;
  }

  // Hits and misses; writes go through to the backend and wait for it.
  static void count_accesses(const Vm& vm, VmCounters& of) {
    const auto& [reads, writes] = vm.tallies;
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
  std::array<Count, kTiers> capacity_{};
  std::array<Count, kTiers + 1> total_{};  // also below the last tier; not if apart
  Stack shared_;
  std::vector<Vm> vms_;
  std::vector<BlockId> first_id_;  // by VM, and where those of the last end
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
  const std::uint64_t entries = RecencyLog<kTiers>::entries(most);
  if (entries >= kNoBlock) {
    return absl::ResourceExhaustedError(fmt::format(
        "the stacks need {} log entries, more than 2^32: use a larger block size", entries));
  }
  auto host = std::make_unique<ExclusiveLru<kTiers>>(machine, trace, sharing, rules,
                                                     RecencyLog<kTiers>::stacks(most));
  if (sharing != Sharing::kShared) MCSIM_RETURN_IF_ERROR(host->resize(targets));
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
  const Sharing sharing = rules.mode == ResizeMode::kEager ? Sharing::kApart : Sharing::kContended;
  return make_for_tiers(machine, trace, sharing, rules, targets);
}

}  // namespace mcsim
