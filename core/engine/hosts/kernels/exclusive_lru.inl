// The host behind exclusive_lru.hpp for a number of tiers known at compile time. There is one
// source file for each number, so that they compile in parallel. The functions that no access
// reaches are in exclusive_lru_counters.inl and exclusive_lru_state.inl.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/prefetch.hpp"
#include "core/containers/max_tracker.hpp"
#include "core/containers/recency_log.hpp"
#include "core/engine/hosts/cache_probe.hpp"
#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "core/engine/tiers/dirty_tracker.hpp"
#include "core/engine/tiers/vm_admission.hpp"

namespace mcsim {

// How VMs share space.
enum class Sharing : std::uint8_t {
  kShared,     // one LRU stack for all VMs
  kApart,      // one stack per VM, which never exceeds its targets
  kContended,  // one stack per VM; VMs may use space that others leave
};

template <int kTiers>
class ExclusiveLru final : public Host {
 public:
  using Log = RecencyLog<kTiers>;
  using Stack = typename Log::Stack;

  // `stacks`: one for all VMs, or one for each.
  ExclusiveLru(const Machine& machine, const Accesses& trace, Sharing sharing, DivisionRules rules,
               WriteRules writes, std::span<const Stack> stacks)
      : log_(trace.id_count(), stacks),
        id_count_(trace.id_count()),
        sharing_(sharing),
        rules_(rules),
        shared_(stacks.front()),
        owners_(trace),
        dirty_(std::move(writes), trace, Copies::kOne),
        admission_(trace.vms.size()) {
    for (std::size_t k = 0; k < kTiers; ++k) capacity_[k] = machine.tiers[k].capacity_blocks;
    excess_.assign(kTiers, MaxTracker(trace.vms.size()));
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      vms_.push_back({.stack = stacks[std::min(vm, stacks.size() - 1)], .index = VmId(vm)});
    }
  }

  void replay(const Accesses& trace, RequestRange range) override {
    while (range.begin < range.end) {
      if (dirty_.flush_due(trace.request_time[range.begin])) flush();
      const RequestRange until_flush{range.begin, dirty_.next_flush(trace, range)};
      with_kernel([&]<Sharing kSharing, bool kProbe>() {
        replay_range<kSharing, kProbe>(trace, until_flush);
      });
      range.begin = until_flush.end;
    }
  }

  Actions supports() const override {
    Actions all{Action::kWriteModes, Action::kAdmission};
    if (sharing_ != Sharing::kShared) all.add(Action::kTargets);
    return all;
  }

  absl::Status resize(const Allocation& targets) override {
    if (sharing_ == Sharing::kShared) {
      return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
    }
    MCSIM_RETURN_IF_ERROR(check_targets(targets, capacity_, vms_.size()));
    for (std::size_t k = 0; k < kTiers; ++k) {
      for (Vm& vm : vms_) {
        vm.target[k] = targets.at(k, vm.index);
        excess_[k].set(vm.index, excess(vm.held[k], vm.target[k]));
      }
    }
    with_kernel([&]<Sharing kSharing, bool kProbe>() { shrink<kSharing, kProbe>(); });
    return absl::OkStatus();
  }

  absl::Status set_write_modes(std::span<const WriteMode> modes) override {
    return dirty_.set_modes(modes, owners_, [&](BlockId id) { write_back(id); });
  }

  absl::Status set_admission(const std::vector<bool>& admits) override {
    return admission_.set(admits);
  }

  absl::Status attach(const Observers& observers) override {
    for (std::size_t s = 0; s < stack_count(); ++s) {
      if (stack(s).end == stack(s).begin) continue;
      return absl::FailedPreconditionError("cache probe: the host holds blocks already");
    }
    observers_ = observers;
    if (observers.log != nullptr) dirty_.attach(*observers.log);
    return absl::OkStatus();
  }

  void release(VmId vm) override {
    for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) {
      if (dirty_.contains(id)) write_back(id);
      drop(vms_[vm], id);
    }
  }

  void discard(std::span<const BlockId> blocks) override {
    for (const BlockId id : blocks) {
      const VmId vm = owners_.vm_of(id);
      dirty_.discard(vm, id);
      drop(vms_[vm], id);
    }
  }

  std::vector<VmCounters> counters() const override;
  absl::Status check_invariants() const override;
  absl::Status save(ArchiveWriter& to) override;
  absl::Status load(ArchiveReader& from) override;

 private:
  // The index of a write mode in tallies; 0 is for reads.
  static constexpr std::size_t use_of(WriteMode mode) { return 1 + static_cast<std::size_t>(mode); }

  // Accesses by the tier that held the block, and requests by the slowest tier that they waited
  // for. The last entry is for misses and the backend.
  struct Tally {
    std::array<Count, kTiers + 1> found{};
    std::array<Count, kTiers + 1> requests{};
  };

  // Movements by tier for VMs without space in the fastest tier.
  struct BelowTop {
    std::array<Count, kTiers> fills{};
    std::array<Count, kTiers> promotions{};
    std::array<std::array<Count, kTiers>, 2> in_place{};  // hits without a move, by operation
  };

  // Hits of requests and bytes, for all operations together.
  struct RequestCounts {
    Count requests = 0;
    Count request_hits = 0;
    Count bytes = 0;
    Count byte_hits = 0;
  };

  // The data of a VM that an access needs, adjacent in memory. By tier. `held[kTiers]` is minus the
  // sum of the others, so that a move is two additions.
  struct alignas(64) Vm {
    Stack stack;  // unless shared
    std::array<Count, kTiers + 1> held{};
    std::array<Count, kTiers> target{};
    std::array<Count, kTiers> demotions{};  // demoted into the tier
    std::array<Count, kTiers> moved_down{};
    std::array<Count, kTiers> evictions{};
    std::array<Tally, 4> tallies{};          // by use
    std::array<Count, kTiers> written_to{};  // writes back, by the tier of the block afterwards
    std::array<Count, kTiers> invalidations{};
    std::array<Count, kTiers> copied_out{};  // for write-backs
    Count bypassed = 0;                      // misses that did not insert the block
    RequestCounts counts{};
    BelowTop below_top{};
    VmId index;

    auto state() {
      return std::tie(held, target, demotions, moved_down, evictions, tallies, written_to,
                      invalidations, copied_out, bypassed, counts, below_top);
    }
  };

  // The tier that held the block, and the tier that holds it now; kTiers if none does.
  struct Outcome {
    std::size_t found;
    std::size_t now;
  };

  // Call kernel<kSharing, kProbe>(), with kProbe if there is a probe or a log.
  template <class Kernel>
  void with_kernel(Kernel kernel) {
    const bool watched = observers_.probe != nullptr || observers_.log != nullptr;
    const auto with_sharing = [&]<Sharing kSharing>() {
      watched ? kernel.template operator()<kSharing, true>()
              : kernel.template operator()<kSharing, false>();
    };
    switch (sharing_) {
      case Sharing::kShared:
        return with_sharing.template operator()<Sharing::kShared>();
      case Sharing::kApart:
        return with_sharing.template operator()<Sharing::kApart>();
      case Sharing::kContended:
        return with_sharing.template operator()<Sharing::kContended>();
    }
  }

  // Each kernel is a function of its own: the compiler inlines less in larger ones.
  template <Sharing kSharing, bool kProbe>
  [[gnu::noinline]] void replay_range(const Accesses& trace, RequestRange range) {
    const std::span<const BlockId> ids(trace.ids);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      prefetch_line(&vms_[trace.request_vm[std::min(r + kVmAhead, trace.request_count() - 1)]]);
      Vm& vm = vms_[trace.request_vm[r]];
      const RequestRange blocks{trace.request_begin[r], trace.request_begin[r + 1]};
      if (blocks.begin == blocks.end) continue;
      const Op op = static_cast<Op>(trace.request_op[r]);
      const WriteMode mode = op == Op::kRead ? WriteMode::kThrough : dirty_.mode(vm.index);
      if (mode != WriteMode::kThrough) {
        const MissedBlocks missed = mode == WriteMode::kBack
                                        ? write_to_cache<kSharing, kProbe>(vm, ids, blocks)
                                        : write_around(vm, ids, blocks);
        count_request(trace, r, missed, vm.counts);
        continue;
      }
      Tally& tally = vm.tallies[static_cast<std::size_t>(op)];
      const bool blocked = admission_.is_blocked(vm.index);
      std::size_t slowest = 0;
      MissedBlocks missed;
      for (std::size_t i = blocks.begin; i < blocks.end; ++i) {
        prefetch<kProbe>(ids, i);
        if (op == Op::kWrite) log_backend<kProbe>(op, ids[i]);
        const std::size_t tier = serve<kSharing, kProbe>(vm, ids[i], op, blocked).found;
        ++tally.found[tier];
        slowest = std::max(slowest, tier);
        missed.note(i == blocks.begin, tier == kTiers);
      }
      ++tally.requests[slowest];
      count_request(trace, r, missed, vm.counts);
    }
  }

  // Write blocks to the cache; those that no tier admits go to the backend.
  template <Sharing kSharing, bool kProbe>
  MissedBlocks write_to_cache(Vm& vm, std::span<const BlockId> ids, RequestRange blocks) {
    Tally& tally = vm.tallies[use_of(WriteMode::kBack)];
    const bool blocked = admission_.is_blocked(vm.index);
    std::size_t slowest = 0;
    MissedBlocks missed;
    for (std::size_t i = blocks.begin; i < blocks.end; ++i) {
      prefetch<kProbe>(ids, i);
      const auto [found, now] = serve<kSharing, kProbe>(vm, ids[i], Op::kWrite, blocked);
      slowest = std::max(slowest, now);
      missed.note(i == blocks.begin, found == kTiers);
      if (now == kTiers) {
        log_backend<kProbe>(Op::kWrite, ids[i]);
        ++vm.tallies[use_of(WriteMode::kThrough)].found[kTiers];
        continue;
      }
      dirty_.mark(vm.index, ids[i]);
      ++tally.found[found];
      ++vm.written_to[now];
      while (dirty_.too_many()) write_back(dirty_.oldest());
    }
    ++tally.requests[slowest];
    return missed;
  }

  // Drop the copies; every block is a miss.
  MissedBlocks write_around(Vm& vm, std::span<const BlockId> ids, RequestRange blocks) {
    Tally& tally = vm.tallies[use_of(WriteMode::kAround)];
    for (std::size_t i = blocks.begin; i < blocks.end; ++i) {
      prefetch<false>(ids, i);
      log_backend<true>(Op::kWrite, ids[i]);
      drop(vm, ids[i]);
      ++tally.found[kTiers];
    }
    ++tally.requests[kTiers];
    return {static_cast<Count>(blocks.end - blocks.begin), true, true};
  }

  template <bool kProbe>
  [[gnu::always_inline]] void prefetch(std::span<const BlockId> ids, std::size_t i) const {
    const BlockId far = ids[std::min(i + kAhead, ids.size() - 1)];
    log_.prefetch(far);
    if (kProbe && observers_.probe != nullptr) observers_.probe->prefetch(far);
  }

  template <bool kProbe>
  [[gnu::always_inline]] void log_backend(Op op, BlockId id) {
    if (kProbe && observers_.log != nullptr) observers_.log->push(op, id);
  }

  template <Sharing kSharing, bool kProbe>
  [[gnu::always_inline]] Outcome serve(Vm& vm, BlockId id, Op op, bool blocked) {
    if (blocked || !has_room<kSharing>(vm, 0)) [[unlikely]]
      return serve_below_top<kSharing, kProbe>(vm, id, op, blocked);
    Stack& stack = stack_of<kSharing>(vm);
    const std::size_t tier = Log::tier_of(log_.move_up(stack, id), stack);
    if constexpr (kProbe) report(vm, id, op, tier);
    if (tier == 0) return {0, 0};
    change_held<kSharing>(vm, tier, -1);
    change_held<kSharing>(vm, 0, +1);
    settle<kSharing, kProbe, 0>(vm);
    if (kProbe && observers_.probe != nullptr && tier == kTiers)
      observers_.probe->end_insertion(vm.index);
    return {tier, 0};
  }

  // Serve an access of a VM that has no space in the fastest tier, or is blocked. The block enters
  // the fastest tier with space, or stays in the tier that holds it.
  template <Sharing kSharing, bool kProbe>
  [[gnu::noinline]] Outcome serve_below_top(Vm& vm, BlockId id, Op op, bool blocked) {
    Stack& stack = stack_of<kSharing>(vm);
    const std::size_t tier = log_.tier(stack, id);
    std::size_t to = 0;
    while (to < tier && !has_room<kSharing>(vm, to)) ++to;
    if (to == kTiers || (blocked && tier == kTiers)) {
      ++vm.bypassed;
      if (op == Op::kRead) log_backend<kProbe>(op, id);
      return {kTiers, kTiers};
    }
    log_.move_up(stack, id);
    // Faster tiers hold no block of this stack.
    for (std::size_t k = 0; k < to; ++k) log_.demote(stack, k);
    if constexpr (kProbe) report(vm, id, op, tier);
    if (to == tier) {
      vm.below_top.in_place[static_cast<std::size_t>(op)][tier] += tier > 0 ? 1 : 0;
      return {tier, tier};
    }
    if (to > 0) ++(tier == kTiers ? vm.below_top.fills : vm.below_top.promotions)[to];
    change_held<kSharing>(vm, tier, -1);
    change_held<kSharing>(vm, to, +1);
    settle_at<kSharing, kProbe>(vm, to);
    if (kProbe && observers_.probe != nullptr && tier == kTiers)
      observers_.probe->end_insertion(vm.index);
    return {tier, to};
  }

  [[gnu::always_inline]] void report(const Vm& vm, BlockId id, Op op, std::size_t tier) {
    if (op == Op::kRead && tier == kTiers) log_backend<true>(op, id);
    if (observers_.probe == nullptr) return;
    tier < kTiers ? observers_.probe->hit(vm.index, id) : observers_.probe->inserted(vm.index, id);
  }

  // Return whether a block of the VM can enter the tier and stay: in a full tier, another block
  // must be the victim.
  template <Sharing kSharing>
  [[gnu::always_inline]] bool has_room(const Vm& vm, std::size_t tier) {
    if constexpr (kSharing == Sharing::kShared) return capacity_[tier] > 0;
    if constexpr (kSharing == Sharing::kApart) return vm.target[tier] > 0;
    return vm.held[tier] > 0 || total_[tier] < capacity_[tier] ||
           (capacity_[tier] > 0 && has_other_donor(vm, tier));
  }
  // Return whether another VM would be the donor if this VM gets one more block.
  bool has_other_donor(const Vm& vm, std::size_t tier) {
    MaxTracker& tracker = excess_[tier];
    if (rules_.victim == VictimRule::kMostOver)
      return tracker.first_with_one_more(vm.index) != vm.index;
    tracker.add(vm.index, +1);
    const bool is_other = tracker.first_above(0) != vm.index;
    tracker.add(vm.index, -1);
    return is_other;
  }

  // The tier got a block of the VM: demote a block if the tier exceeds its capacity.
  template <Sharing kSharing, bool kProbe, std::size_t kTier>
  [[gnu::always_inline]] void settle(Vm& vm) {
    if constexpr (kSharing == Sharing::kApart) {
      if (vm.held[kTier] > vm.target[kTier]) push_down<kSharing, kProbe, kTier>(vm);
    } else if (total_[kTier] > capacity_[kTier]) {
      // Usually the VM is the donor. This branch is predicted, so that later reads need not wait.
      Vm& donor = kSharing == Sharing::kShared ? vm : donor_in(kTier);
      if (&donor == &vm) [[likely]] {
        push_down<kSharing, kProbe, kTier>(vm);
      } else {
        push_down_another<kSharing, kProbe, kTier>(donor);
      }
    }
  }
  template <Sharing kSharing, bool kProbe, std::size_t kTier = 0>
  void settle_at(Vm& vm, std::size_t tier) {
    if constexpr (kTier < kTiers) {
      if (tier == kTier) return settle<kSharing, kProbe, kTier>(vm);
      settle_at<kSharing, kProbe, kTier + 1>(vm, tier);
    }
  }

  // Demote the least recently used block of the tier.
  template <Sharing kSharing, bool kProbe, std::size_t kTier>
  [[gnu::always_inline]] void push_down(Vm& vm) {
    assert(kSharing == Sharing::kShared || vm.held[kTier] > 0);
    const BlockId id = log_.demote(stack_of<kSharing>(vm), kTier);
    Vm& owner = kSharing == Sharing::kShared ? vms_[owners_.vm_of(id)] : vm;
    change_held<kSharing>(owner, kTier, -1);
    sink<kSharing, kProbe, kTier, kTier + 1>(owner, id);
  }
  template <Sharing kSharing, bool kProbe, std::size_t kTier>
  [[gnu::noinline]] void push_down_another(Vm& donor) {
    push_down<kSharing, kProbe, kTier>(donor);
  }

  // Move a block that left a tier into the next tier with space, or evict it.
  template <Sharing kSharing, bool kProbe, std::size_t kFrom, std::size_t kTo>
  [[gnu::always_inline]] void sink(Vm& owner, BlockId id) {
    if constexpr (kTo == kTiers) {
      ++owner.evictions[kFrom];
      change_held<kSharing>(owner, kTiers, +1);
      if (kProbe && observers_.probe != nullptr) observers_.probe->removed(owner.index, id);
      if (dirty_.count() > 0 && dirty_.contains(id)) {
        ++owner.copied_out[kFrom];
        dirty_.write_back(owner.index, id);
      }
    } else if (has_room<kSharing>(owner, kTo)) {
      ++owner.moved_down[kFrom];
      ++owner.demotions[kTo];
      change_held<kSharing>(owner, kTo, +1);
      settle<kSharing, kProbe, kTo>(owner);
    } else {
      log_.demote(stack_of<kSharing>(owner), kTo);
      sink<kSharing, kProbe, kFrom, kTo + 1>(owner, id);
    }
  }

  // Shrink to reduced targets, the slowest tier first, so that victims find the space freed there.
  template <Sharing kSharing, bool kProbe, std::size_t kBelow = kTiers>
  void shrink() {
    if constexpr (kSharing == Sharing::kApart && kBelow > 0) {
      for (Vm& vm : vms_) {
        while (vm.held[kBelow - 1] > vm.target[kBelow - 1]) {
          push_down<kSharing, kProbe, kBelow - 1>(vm);
        }
      }
      shrink<kSharing, kProbe, kBelow - 1>();
    }
  }

  // The VM that evicts a block if a tier exceeds its capacity. Targets sum to at most the capacity,
  // so at least one VM exceeds its target.
  [[gnu::always_inline]] Vm& donor_in(std::size_t tier) {
    MaxTracker& tracker = excess_[tier];
    return vms_[rules_.victim == VictimRule::kFirstOver ? tracker.first_above(0) : tracker.first()];
  }

  // Remove a block that is not a victim.
  void drop(Vm& vm, BlockId id) {
    const std::size_t tier = log_.remove(stack_of(vm), id);
    if (tier == kTiers) return;
    change_held<Sharing::kContended>(vm, tier, -1);
    change_held<Sharing::kContended>(vm, kTiers, +1);
    ++vm.invalidations[tier];
    if (observers_.probe != nullptr) observers_.probe->removed(vm.index, id);
  }

  template <Sharing kSharing>
  [[gnu::always_inline]] void change_held(Vm& vm, std::size_t tier, Count blocks) {
    vm.held[tier] += blocks;
    if constexpr (kSharing != Sharing::kApart) total_[tier] += blocks;
    if constexpr (kSharing == Sharing::kContended) {
      if (tier < kTiers) excess_[tier].add(vm.index, blocks);
    }
  }

  template <Sharing kSharing>
  Stack& stack_of(Vm& vm) {
    return kSharing == Sharing::kShared ? shared_ : vm.stack;
  }
  const Stack& stack_of(const Vm& vm) const {
    return sharing_ == Sharing::kShared ? shared_ : vm.stack;
  }
  const Stack& stack(std::size_t s) const {
    return sharing_ == Sharing::kShared ? shared_ : vms_[s].stack;
  }
  std::size_t stack_count() const { return sharing_ == Sharing::kShared ? 1 : vms_.size(); }

  // Write back a dirty block that a tier holds.
  void write_back(BlockId id) {
    Vm& owner = vms_[owners_.vm_of(id)];
    ++owner.copied_out[log_.tier(stack_of(owner), id)];
    dirty_.write_back(owner.index, id);
  }
  void flush() {
    while (dirty_.count() > 0) write_back(dirty_.oldest());
  }

  void count(const Vm& vm, VmCounters& of) const;
  void count_moves(const Vm& vm, std::size_t k, VmCounters& of) const;
  absl::Status check_occupancy(std::span<const std::array<Count, kTiers>> found) const;

  // Prefetch distances, in accesses and requests: long enough for the data to arrive, short enough
  // for it to stay in the CPU cache.
  static constexpr std::size_t kAhead = 24;
  static constexpr std::size_t kVmAhead = 8;

  Log log_;
  std::size_t id_count_;
  Sharing sharing_;
  DivisionRules rules_;
  std::array<Count, kTiers> capacity_{};
  std::array<Count, kTiers + 1> total_{};  // held by all VMs, as in Vm; unused if kApart
  std::vector<MaxTracker> excess_;         // by tier and VM: blocks held minus target
  Stack shared_;
  std::vector<Vm> vms_;
  BlockOwners owners_;
  DirtyTracker dirty_;
  VmAdmission admission_;
  Observers observers_;
};

}  // namespace mcsim

#include "core/engine/hosts/kernels/exclusive_lru_counters.inl"
#include "core/engine/hosts/kernels/exclusive_lru_state.inl"
