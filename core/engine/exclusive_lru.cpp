#include "core/engine/exclusive_lru.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/prefetch.hpp"
#include "core/containers/greatest.hpp"
#include "core/containers/recency_log.hpp"
#include "core/engine/block_owners.hpp"
#include "core/engine/gate.hpp"
#include "core/engine/stack_meters.hpp"

namespace mcsim {
namespace {

// How many accesses ahead of the replay memory is asked for: far enough to arrive in
// time, near enough to still be there.
constexpr std::size_t kAhead = 24;
constexpr std::size_t kVmAhead = 8;

// What a stretch of requests is served for.
enum class Stretch : std::uint8_t {
  kThrough,  // VMs that are let in and write through, all of them
  kOpen,     // VMs that are let in
  kAny,
};

template <int kTiers>
class ExclusiveLru final : public Host, StackMeters<RecencyLog<kTiers>>::Stacks {
 public:
  using Log = RecencyLog<kTiers>;
  using Stack = typename Log::Stack;
  using Position = typename Log::Position;

  // `stacks`: one for all VMs or one for each.
  ExclusiveLru(const Machine& machine, const Accesses& trace, Sharing sharing, DivisionRules rules,
               WriteRules writes, std::span<const Stack> stacks)
      : log_(trace.id_count(), stacks),
        sharing_(sharing),
        rules_(rules),
        shared_(stacks.front()),
        owners_(trace),
        book_(std::move(writes), trace, Copies::kOne),
        gate_(trace.vms.size()),
        meters_(log_, owners_, *this) {
    for (std::size_t k = 0; k < kTiers; ++k) capacity_[k] = machine.tiers[k].capacity_blocks;
    excess_.assign(kTiers, Greatest(trace.vms.size()));
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      vms_.push_back({.stack = stacks[std::min(vm, stacks.size() - 1)], .index = VmId(vm)});
    }
  }

  void replay(const Accesses& trace, RequestRange range) override {
    as_known([&]<Way kWay>() { replay_as<kWay>(trace, range); });
    meters_.settle();
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
        excess_[k].set(vm.index, beyond(vm.held[k], vm.target[k]));
      }
    }
    as_known([&]<Way kWay>() {
      keep_to_targets<kWay>();
      for (std::size_t k = 0; k < kTiers; ++k) {
        for (Vm& vm : vms_) meters_.template settled_in<kWay>(k, vm.index, vm.held);
      }
    });
    return absl::OkStatus();
  }

  absl::Status set_write_modes(std::span<const WriteMode> modes) override {
    return book_.set_modes(modes, owners_, [&](BlockId id) { write_back(id); });
  }

  absl::Status set_admission(const std::vector<bool>& admits) override { return gate_.set(admits); }

  absl::Status attach(HostMeters& meters) override {
    for (std::size_t s = 0; s < stack_count(); ++s) {
      if (stack(s).end == stack(s).begin) continue;
      return absl::FailedPreconditionError("host meter: the host has blocks already");
    }
    MCSIM_RETURN_IF_ERROR(make_marks(StackMeters<Log>::marks_for(meters, sharing_)));
    meters_.attach(meters, sharing_);
    return absl::OkStatus();
  }

  void release(VmId vm) override {
    as_known([&]<Way kWay>() {
      for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) {
        if (drop<kWay>(vms_[vm], id) < kTiers && book_.dirty(id)) book_.write_back(vm, id);
      }
    });
  }

  std::vector<VmCounters> counters() const override {
    std::vector<VmCounters> all(vms_.size());
    for (const Vm& vm : vms_) count(vm, all[vm.index]);
    return all;
  }

  absl::Status check_invariants() const override {
    std::vector<std::array<Count, kTiers>> found(vms_.size());
    Count dirty = 0;
    const auto count = [&](std::size_t tier, BlockId id) {
      ++found[owners_.vm_of(id)][tier];
      dirty += book_.dirty(id) ? 1 : 0;
    };
    for (std::size_t s = 0; s < stack_count(); ++s) {
      if (!log_.consistent(stack(s))) {
        return internal_error("exclusive LRU: the log of stack {} is torn", s);
      }
      log_.for_each(stack(s), count);
    }
    if (dirty != book_.dirty()) {
      return internal_error("exclusive LRU: {} dirty blocks are held, counted {}", dirty,
                            book_.dirty());
    }
    return check_occupancy(found);
  }

 private:
  // What becomes of the requests of a VM: reads, or writes in one of the modes.
  static constexpr std::size_t use_of(WriteMode mode) { return 1 + static_cast<std::size_t>(mode); }

  // Accesses by the tier that had the block, and requests by the slowest tier that they
  // waited for; the last entry: none, and the backend.
  struct Tally {
    std::array<Count, kTiers + 1> found{};
    std::array<Count, kTiers + 1> requests{};
  };

  // All that an access needs of its VM, side by side. By tier; the last entry of some:
  // below the last tier.
  struct alignas(64) Vm {
    Stack stack;  // unless shared
    std::array<Count, kTiers + 1> held{};
    std::array<Count, kTiers> target{};
    std::array<Count, kTiers + 1> demotions{};   // came down into that tier
    std::array<Tally, 4> tallies{};              // by use
    std::array<Count, kTiers + 1> written_to{};  // written back: where the block was then
    std::array<Count, kTiers> invalidations{};
    Count passed_by = 0;  // of what `tallies` found nowhere, what did not come in
    VmId index;
  };

  // Calls go<Way>() with what is known of the host.
  template <class Go>
  void as_known(Go go) {
    switch (sharing_) {
      case Sharing::kShared:
        return as_metered<Sharing::kShared>(go);
      case Sharing::kApart:
        return as_metered<Sharing::kApart>(go);
      case Sharing::kContended:
        return as_metered<Sharing::kContended>(go);
    }
  }
  template <Sharing kSharing, class Go>
  void as_metered(Go go) {
    as_told(meters_.told(), [&]<Told kTold>() {
      if constexpr (StackMeters<Log>::may_be(kTold)) {
        go.template operator()<Way{kSharing, kTold}>();
      }
    });
  }

  // More marks in the log, which is empty.
  absl::Status make_marks(std::uint64_t more) {
    if (more == 0) return absl::OkStatus();
    const std::uint64_t entries = vms_.back().stack.stop + more;
    if (entries >= kNoBlock) {
      return absl::ResourceExhaustedError(fmt::format(
          "host meter: marks and log entries are {}, more than 2^32: use a larger block size",
          entries));
    }
    for (Vm& vm : vms_) vm.stack = Log::raised(vm.stack, static_cast<Position>(more));
    shared_ = vms_.front().stack;
    const std::array ends{vms_.front().stack, vms_.back().stack};
    log_ = Log(owners_.end_of(vms_.size() - 1), ends);
    return absl::OkStatus();
  }

  // One function for each way: in a greater one less is inlined.
  template <Way kWay>
  [[gnu::noinline]] void replay_as(const Accesses& trace, RequestRange range) {
    while (range.begin < range.end) {
      if (book_.flush_due(trace.request_time[range.begin])) flush();
      const RequestRange stretch{range.begin, book_.next_flush(trace, range)};
      if (gate_.any_shut()) {
        replay_stretch<kWay, Stretch::kAny>(trace, stretch);
      } else if (book_.all(WriteMode::kThrough)) {
        replay_stretch<kWay, Stretch::kThrough>(trace, stretch);
      } else {
        replay_stretch<kWay, Stretch::kOpen>(trace, stretch);
      }
      range.begin = stretch.end;
    }
  }

  template <Way kWay, Stretch kStretch>
  void replay_stretch(const Accesses& trace, RequestRange range) {
    const std::span<const BlockId> ids(trace.ids);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      prefetch_line(&vms_[trace.request_vm[std::min(r + kVmAhead, trace.request_count() - 1)]]);
      Vm& vm = vms_[trace.request_vm[r]];
      const std::size_t begin = trace.request_begin[r];
      const std::size_t end = trace.request_begin[r + 1];
      if constexpr (kStretch != Stretch::kThrough) {
        const WriteMode mode = book_.mode(vm.index);
        if (trace.request_op[r] != 0 && mode == WriteMode::kBack) {
          write_to_cache<kWay, kStretch>(vm, ids, begin, end);
          continue;
        }
        if (trace.request_op[r] != 0 && mode == WriteMode::kAround) {
          write_around<kWay>(vm, ids, begin, end);
          continue;
        }
      }
      Tally& tally = vm.tallies[trace.request_op[r]];
      std::size_t slowest = 0;
      for (std::size_t i = begin; i < end; ++i) {
        prefetch<kWay>(ids, i);
        const std::size_t tier = stays_out<kWay, kStretch>(vm, ids[i]) ? pass_by<kWay>(vm, ids[i])
                                                                       : serve<kWay>(vm, ids[i]);
        ++tally.found[tier];
        slowest = std::max(slowest, tier);
      }
      tally.requests[slowest] += end > begin ? 1 : 0;
    }
  }

  // Into the cache, where the block is when all has settled.
  template <Way kWay, Stretch kStretch>
  void write_to_cache(Vm& vm, std::span<const BlockId> ids, std::size_t begin, std::size_t end) {
    Tally& tally = vm.tallies[use_of(WriteMode::kBack)];
    std::size_t slowest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      prefetch<kWay>(ids, i);
      if (stays_out<kWay, kStretch>(vm, ids[i])) {
        slowest = pass_by<kWay>(vm, ids[i]);
        ++vm.tallies[use_of(WriteMode::kThrough)].found[slowest];
        continue;
      }
      book_.mark(vm.index, ids[i]);
      ++tally.found[serve<kWay>(vm, ids[i])];
      const std::size_t tier = log_.tier(stack_of<kWay>(vm), ids[i]);
      ++vm.written_to[tier];
      slowest = std::max(slowest, tier);
      while (book_.too_many()) write_back(book_.oldest());
    }
    tally.requests[slowest] += end > begin ? 1 : 0;
  }

  template <Way kWay>
  void write_around(Vm& vm, std::span<const BlockId> ids, std::size_t begin, std::size_t end) {
    Tally& tally = vm.tallies[use_of(WriteMode::kAround)];
    for (std::size_t i = begin; i < end; ++i) {
      prefetch<kWay>(ids, i);
      ++tally.found[drop<kWay>(vm, ids[i])];
    }
    tally.requests[kTiers] += end > begin ? 1 : 0;
  }

  template <Way kWay>
  [[gnu::always_inline]] void prefetch(std::span<const BlockId> ids, std::size_t i) const {
    const BlockId far = ids[std::min(i + kAhead, ids.size() - 1)];
    log_.prefetch(far);
    meters_.template ahead<kWay>(far);
  }

  // The tier that had the block, kTiers if none.
  template <Way kWay>
  [[gnu::always_inline]] std::size_t serve(Vm& vm, BlockId id) {
    Stack& stack = stack_of<kWay>(vm);
    if (log_.make_room(stack)) [[unlikely]] {
      meters_.template squeezed<kWay>(vm.index, stack);
    }
    const Position was = log_.template move_up<kWay.marks()>(stack, id);
    meters_.template appended<kWay>(vm.index, stack);
    const std::size_t tier = Log::tier_of(was, stack);
    if (tier == 0) {
      meters_.template hit<kWay>(vm.index, id, was);
      return tier;
    }
    gain<kWay>(vm, tier, -1);
    gain<kWay>(vm, 0, +1);
    meters_.template brought_up<kWay>(vm.index, id, was, tier, vm.held);
    settle<kWay>(vm);
    meters_.template settled_in<kWay>(0, vm.index, vm.held);
    if (tier == kTiers) meters_.template settled<kWay>(vm.index);
    return tier;
  }

  // Whether no tier has the block, and none may.
  template <Way kWay, Stretch kStretch>
  bool stays_out(Vm& vm, BlockId id) {
    return kStretch == Stretch::kAny && gate_.shut(vm.index) &&
           log_.tier(stack_of<kWay>(vm), id) == kTiers;
  }
  template <Way kWay>
  std::size_t pass_by(Vm& vm, BlockId id) {
    meters_.template passed_by<kWay>(vm.index, id);
    ++vm.passed_by;
    return kTiers;
  }

  // The block leaves without being a victim; the tier that had it, kTiers if none.
  template <Way kWay>
  std::size_t drop(Vm& vm, BlockId id) {
    const Position was = log_.where(id);
    const std::size_t tier = log_.remove(stack_of<kWay>(vm), id);
    if (tier == kTiers) return tier;
    gain<kWay>(vm, tier, -1);
    ++vm.invalidations[tier];
    meters_.template dropped<kWay>(vm.index, id, was, tier, vm.held);
    return tier;
  }

  // Called when `vm` got a block in a tier: pushes blocks down until the tier
  // keeps to its capacity and the mode. A tier that had room ends the chain.
  template <Way kWay, std::size_t kTier = 0>
  void settle(Vm& vm) {
    if constexpr (kTier < kTiers) {
      if constexpr (kWay.sharing == Sharing::kApart) {
        if (vm.held[kTier] > vm.target[kTier]) push_down<kWay, kTier>(vm);
        return;
      }
      if (kWay.sharing == Sharing::kContended && rules_.mode == ResizeMode::kStrictOwn) {
        while (vm.held[kTier] > vm.target[kTier]) push_down<kWay, kTier>(vm);
      }
      while (total_[kTier] > capacity_[kTier]) {
        // Mostly it is one's own: guessed, so that what is read next need not wait for who gives.
        Vm& giver = kWay.shared() ? vm : donor(kTier);
        if (&giver == &vm) [[likely]] {
          push_down<kWay, kTier>(vm);
        } else {
          push_down_another<kWay, kTier>(giver);
        }
      }
    }
  }

  template <Way kWay, std::size_t kTier>
  [[gnu::always_inline]] void push_down(Vm& vm) {
    Vm& owner = demote<kWay>(vm, kTier);
    settle<kWay, kTier + 1>(vm);
    if (kTier + 1 < kTiers) meters_.template settled_in<kWay>(kTier + 1, owner.index, owner.held);
  }

  template <Way kWay, std::size_t kTier>
  [[gnu::noinline]] void push_down_another(Vm& giver) {
    push_down<kWay, kTier>(giver);
  }

  template <Way kWay>
  void keep_to_targets() {
    if constexpr (kWay.sharing != Sharing::kApart) return;
    for (std::size_t k = 0; k < kTiers; ++k) {
      for (Vm& vm : vms_) {
        while (vm.held[k] > vm.target[k]) demote<kWay>(vm, k);
      }
    }
  }

  // The VM that gives a block of a tier that is over its capacity. Targets sum
  // to at most the capacity, so at least one VM is over its own.
  [[gnu::always_inline]] Vm& donor(std::size_t tier) {
    Greatest& excess = excess_[tier];
    return vms_[rules_.victim == VictimRule::kFirstOver ? excess.first_above(0) : excess.first()];
  }

  template <Way kWay>
  [[gnu::always_inline]] Vm& demote(Vm& vm, std::size_t tier) {
    const BlockId id = log_.demote(stack_of<kWay>(vm), tier);
    Vm& owner = kWay.sharing == Sharing::kShared ? vms_[owners_.vm_of(id)] : vm;
    gain<kWay>(owner, tier, -1);
    gain<kWay>(owner, tier + 1, +1);
    ++owner.demotions[tier + 1];
    meters_.template demoted<kWay>(owner.index, stack_of<kWay>(vm), id, tier, owner.held);
    if (tier + 1 == kTiers && book_.dirty() > 0 && book_.dirty(id)) {
      book_.write_back(owner.index, id);
    }
    return owner;
  }

  template <Way kWay>
  [[gnu::always_inline]] void gain(Vm& vm, std::size_t tier, Count blocks) {
    vm.held[tier] += blocks;
    if constexpr (kWay.sharing != Sharing::kApart) total_[tier] += blocks;
    if constexpr (kWay.sharing == Sharing::kContended) {
      if (tier < kTiers) excess_[tier].add(vm.index, blocks);
    }
  }

  template <Way kWay>
  Stack& stack_of(Vm& vm) {
    return kWay.sharing == Sharing::kShared ? shared_ : vm.stack;
  }
  Stack& stack_of(VmId vm) override {
    return sharing_ == Sharing::kShared ? shared_ : vms_[vm].stack;
  }
  std::span<const Count> held_by(VmId vm) const override { return vms_[vm].held; }
  const Stack& stack(std::size_t s) const {
    return sharing_ == Sharing::kShared ? shared_ : vms_[s].stack;
  }
  std::size_t stack_count() const { return sharing_ == Sharing::kShared ? 1 : vms_.size(); }

  void write_back(BlockId id) { book_.write_back(owners_.vm_of(id), id); }
  void flush() {
    while (book_.dirty() > 0) write_back(book_.oldest());
  }

  void count(const Vm& vm, VmCounters& of) const {
    const auto& [reads, through, back, around] = vm.tallies;
    of.tiers.resize(kTiers);
    for (std::size_t k = 0; k <= kTiers; ++k) {
      const Count entered = reads.found[k] + through.found[k] + back.found[k];
      const Count written = through.found[k] + back.found[k] + around.found[k];
      of.accesses += entered + around.found[k];
      of.writes += written;
      of.reads_served.blocks[k] = reads.found[k];
      of.reads_served.requests[k] = reads.requests[k];
      of.writes_served.blocks[k] += vm.written_to[k];
      of.writes_served.blocks[kTiers] += through.found[k] + around.found[k];
      of.writes_served.requests[k] += back.requests[k];
      of.writes_served.requests[kTiers] += through.requests[k] + around.requests[k];
      of.backend_writes += through.found[k] + around.found[k];
      if (k == kTiers) {
        of.misses = entered + around.found[k];
        of.write_misses = written;
        of.tiers[0].fills = entered - vm.passed_by;
        break;
      }
      TierCounters& tier = of.tiers[k];
      tier.hits = entered + around.found[k];
      tier.write_hits = written;
      tier.moved_up = k == 0 ? 0 : entered;
      of.tiers[0].promotions += tier.moved_up;
    }
    of.backend_reads = reads.found[kTiers];
    of.tiers[0].updates = through.found[0] + back.found[0];
    count_moves(vm, of);
    book_.count(vm.index, of);
  }

  void count_moves(const Vm& vm, VmCounters& of) const {
    for (std::size_t k = 0; k < kTiers; ++k) {
      TierCounters& tier = of.tiers[k];
      tier.demotions = vm.demotions[k];
      tier.moved_down = k + 1 < kTiers ? vm.demotions[k + 1] : 0;
      tier.invalidations = vm.invalidations[k];
      tier.occupancy = vm.held[k];
      tier.target = sharing_ == Sharing::kShared ? capacity_[k] : vm.target[k];
    }
    of.tiers[kTiers - 1].evictions = vm.demotions[kTiers];
  }

  absl::Status check_occupancy(std::span<const std::array<Count, kTiers>> found) const {
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

  Log log_;
  Sharing sharing_;
  DivisionRules rules_;
  std::array<Count, kTiers> capacity_{};
  std::array<Count, kTiers + 1> total_{};  // also below the last tier; not if apart
  std::vector<Greatest> excess_;           // by tier, then VM: what it holds, less its target
  Stack shared_;
  std::vector<Vm> vms_;
  BlockOwners owners_;
  WriteBook book_;
  Gate gate_;
  StackMeters<Log> meters_;
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
                                           Sharing sharing, DivisionRules rules,
                                           const Allocation& targets, WriteRules writes) {
  const std::vector<std::uint64_t> most = most_blocks(machine, trace, sharing);
  const std::uint64_t entries = RecencyLog<kTiers>::entries(most);
  if (entries >= kNoBlock) {
    return absl::ResourceExhaustedError(fmt::format(
        "the stacks need {} log entries, more than 2^32: use a larger block size", entries));
  }
  auto host = std::make_unique<ExclusiveLru<kTiers>>(
      machine, trace, sharing, rules, std::move(writes), RecencyLog<kTiers>::stacks(most));
  if (sharing != Sharing::kShared) MCSIM_RETURN_IF_ERROR(host->resize(targets));
  return host;
}

using Maker = absl::StatusOr<std::unique_ptr<Host>> (*)(const Machine&, const Accesses&, Sharing,
                                                        DivisionRules, const Allocation&,
                                                        WriteRules);

template <std::size_t... kIndex>
constexpr std::array<Maker, sizeof...(kIndex)> makers(std::index_sequence<kIndex...>) {
  return {make<static_cast<int>(kIndex) + 1>...};
}

// The number of tiers becomes a template argument here, once per run.
absl::StatusOr<std::unique_ptr<Host>> make_for_tiers(const Machine& machine, const Accesses& trace,
                                                     Sharing sharing, DivisionRules rules,
                                                     const Allocation& targets, WriteRules writes) {
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
  return kMakers[machine.tiers.size() - 1](machine, trace, sharing, rules, targets,
                                           std::move(writes));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine, const Accesses& trace,
                                                      WriteRules writes) {
  return make_for_tiers(machine, trace, Sharing::kShared, {}, {}, std::move(writes));
}

absl::StatusOr<std::unique_ptr<Host>> make_divided_lru(const Machine& machine,
                                                       const Accesses& trace,
                                                       const Allocation& targets,
                                                       DivisionRules rules, WriteRules writes) {
  const Sharing sharing = rules.mode == ResizeMode::kEager ? Sharing::kApart : Sharing::kContended;
  return make_for_tiers(machine, trace, sharing, rules, targets, std::move(writes));
}

}  // namespace mcsim
