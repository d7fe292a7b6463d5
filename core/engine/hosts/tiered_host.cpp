#include "core/engine/hosts/tiered_host.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/engine/hosts/discards_by_access.hpp"
#include "core/engine/hosts/kernels/all.hpp"

namespace mcsim {

namespace {

// Return the target of each part of a tier: the sum of its VMs' targets.
std::vector<Count> by_part(std::span<const Count> targets, std::span<const std::size_t> part_of) {
  std::vector<Count> sums(*std::ranges::max_element(part_of) + 1, 0);
  for (std::size_t vm = 0; vm < targets.size(); ++vm) sums[part_of[vm]] += targets[vm];
  return sums;
}

// The status with the number of the tier.
absl::Status in_tier(std::size_t tier, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(), fmt::format("tier {}: {}", tier, message_of(status))};
}

}  // namespace

TieredHost::TieredHost(TieredSetup setup, const Accesses& trace)
    : chain_(setup.chain),
      tiers_(std::move(setup.tiers)),
      table_(std::move(setup.table)),
      part_of_(std::move(setup.part_of)),
      any_slots_(std::ranges::any_of(tiers_, &Tier::has_slots)),
      reads_addresses_(std::ranges::any_of(tiers_, &Tier::reads_addresses)),
      refuses_(std::ranges::any_of(tiers_, &Tier::refuses)),
      changeable_(setup.changeable),
      blocks_(trace.id_count()),
      line_blocks_(trace.line_blocks),
      owners_(trace),
      dirty_(std::move(setup.writes), trace, one_copy() ? Copies::kOne : Copies::kSeveral),
      admission_(trace.vms.size()),
      staged_ns_(tiers_.back().staged_ns()),
      counters_(trace.vms.size()),
      found_(trace.vms.size()) {
  if (setup.fetches) fetches_.emplace(*std::move(setup.fetches), blocks_);
  for (VmCounters& vm : counters_) vm.tiers.resize(tiers_.size());
}

absl::StatusOr<std::unique_ptr<TieredHost>> TieredHost::make(TieredSetup setup,
                                                             const Accesses& trace) {
  if (setup.tiers.empty() || setup.tiers.size() > kMaxTiers) {
    return invalid_argument("tiers: expected 1 to {}, got {}", kMaxTiers, setup.tiers.size());
  }
  MCSIM_RETURN_IF_ERROR(check_chain_writes(setup.chain, setup.writes.by_tier,
                                           setup.tiers.back().staged_ns().has_value()));
  std::unique_ptr<TieredHost> host(new TieredHost(std::move(setup), trace));
  if (host->reads_addresses_ && !trace.keeps_addresses) {
    return invalid_argument("admission: the filter reads addresses, which the trace does not keep");
  }
  if (std::ranges::any_of(host->tiers_, &Tier::needs_next_use)) {
    MCSIM_ASSIGN_OR_RETURN(
        host->next_uses_,
        next_uses(trace.ids, trace.id_count(), trace.line_blocks, discards_by_access(trace)));
    host->next_use_of_ = Pages<NextUse>(host->tiers_.size() * trace.id_count());
  }
  for (const Tier& tier : host->tiers_) {
    if (tier.needs_times() && trace.time_base != TimeBase::kClock) {
      return invalid_argument("policy: it reads the time, which the trace does not have");
    }
  }
  if (host->fetches_ && trace.time_base != TimeBase::kClock) {
    return invalid_argument("delayed_hits: fetches take time, which the trace does not have");
  }
  host->start_clocks(trace);
  if (!host->fetches_) host->make_kernels();
  return host;
}

void TieredHost::start_clocks(const Accesses& trace) {
  if (std::ranges::none_of(tiers_, [](const Tier& tier) { return tier.ticks().period > 0; }))
    return;
  const Nanoseconds begin = trace.request_count() == 0 ? 0 : trace.request_time.front();
  for (const Tier& tier : tiers_) {
    const Nanoseconds period = tier.ticks().period;
    clocks_.push_back(
        {.period = period,
         .next = period == 0 ? std::numeric_limits<Nanoseconds>::max() : begin + period,
         .begin = begin});
  }
}

void TieredHost::make_kernels() {
  const KernelSetup setup{.chain = chain_,
                          .tiers = tiers_,
                          .table = *table_,
                          .part_of = part_of_,
                          .line_blocks = line_blocks_,
                          .owners = owners_,
                          .admission = admission_,
                          .dirty = dirty_,
                          .next_uses = next_uses_,
                          .next_use_of = next_use_of_,
                          .slow_path = *this};
  for (const KernelType& type : kernel_types()) {
    if (auto kernel = type.make(setup)) kernels_.push_back({type.name, std::move(kernel)});
  }
}

void TieredHost::replay(const Accesses& trace, RequestRange range) {
  while (range.begin < range.end) {
    if (dirty_.flush_due(trace.request_time[range.begin])) flush();
    if (!clocks_.empty()) tick_until(trace.request_time[range.begin]);
    const RequestRange uninterrupted{
        range.begin, std::min(dirty_.next_flush(trace, range), next_tick(trace, range))};
    serve(trace, uninterrupted);
    range.begin = uninterrupted.end;
  }
}

// Work in the background at all ticks up to `now`, in the order of time.
void TieredHost::tick_until(Nanoseconds now) {
  while (true) {
    const auto next = std::ranges::min_element(clocks_, {}, &TierClock::next);
    if (next->next > now) return;
    const auto k = static_cast<std::size_t>(next - clocks_.begin());
    BackgroundWork work;
    tiers_[k].tick(next->next, work);
    next->next += next->period;
    for (const BlockId block : work.to_clean) {
      if (!dirty_.contains(block)) continue;
      // The only copy is in this tier, or was before this tick evicted it.
      one_copy() ? write_back(k, k, request_of(owners_.vm_of(block)), block) : write_back(block);
    }
    leave_in_turn(k, work.victims, kNoRequest);
    if (refuses_) leave_refused(kNoRequest);
  }
}

// Return the first request at or after the next tick.
std::size_t TieredHost::next_tick(const Accesses& trace, RequestRange range) const {
  if (clocks_.empty()) return range.end;
  const Nanoseconds next = std::ranges::min(clocks_, {}, &TierClock::next).next;
  const auto times = trace.request_time.begin();
  return static_cast<std::size_t>(std::lower_bound(times + range.begin, times + range.end, next) -
                                  times);
}

void TieredHost::serve(const Accesses& trace, RequestRange range) {
  for (const NamedKernel& of : kernels_) {
    if (!of.kernel->serves(trace, range)) continue;
    last_loop_ = of.name;
    return of.kernel->replay(trace, range, counters_, found_);
  }
  last_loop_ = kWalk;
  walk(trace, range);
}

void TieredHost::serve_singly(const Accesses& trace, std::size_t request) {
  walk(trace, {request, request + 1});
}

absl::Status TieredHost::set_admission(const std::vector<bool>& admits) {
  return admission_.set(admits);
}

Actions TieredHost::supports() const {
  Actions all{Action::kWriteModes, Action::kAdmission};
  if (!one_copy() && !staged_ns_) all.add(Action::kWriteModesByTier);
  if (changeable_) all.add(Action::kTargets);
  return all;
}

absl::Status TieredHost::failure() const {
  for (const Tier& tier : tiers_) MCSIM_RETURN_IF_ERROR(tier.failure());
  return absl::OkStatus();
}

absl::Status TieredHost::attach(const Observers& observers) {
  if (!std::ranges::all_of(tiers_, &Tier::empty)) {
    return absl::FailedPreconditionError("cache probe: the host holds blocks already");
  }
  observers_ = observers;
  if (observers.log != nullptr) {
    dirty_.attach(*observers.log);
    kernels_.clear();
  }
  for (const NamedKernel& of : kernels_) of.kernel->attach(observers);
  return absl::OkStatus();
}

void TieredHost::release(VmId vm) {
  for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) drop(vm, id);
}

void TieredHost::drop(VmId vm, BlockId block) {
  if (dirty_.contains(block)) {
    // Copies below are dropped, not updated.
    ++counters_[vm].tiers[newest_copy(vm, block)].copied_out;
    dirty_.write_back(vm, block);
  }
  drop_copies(vm, block);
}

void TieredHost::discard(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    const VmId vm = owners_.vm_of(block);
    dirty_.discard(vm, block);
    drop_copies(vm, block);
  }
}

void TieredHost::drop_copies(VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  drop_staged(block);
  const bool held = holds_any(vm, block);
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (tiers_[k].discard(owner.part, block)) count_invalidation(k, owner);
  }
  if (observers_.probe != nullptr && held) observers_.probe->removed(vm, block);
}

absl::Status TieredHost::resize(const Allocation& targets) {
  if (!changeable_) {
    return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
  }
  std::vector<Count> capacities;
  for (const Tier& tier : tiers_) capacities.push_back(tier.capacity());
  MCSIM_RETURN_IF_ERROR(check_targets(targets, capacities, counters_.size()));
  // The slowest tier first, to make space for victims of faster tiers.
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    std::vector<BlockId> victims;
    tiers_[k].retarget(by_part(targets.tier(k), part_of_), victims);
    leave_in_turn(k, victims, kNoRequest);
  }
  leave_refused(kNoRequest);
  return absl::OkStatus();
}

std::vector<VmCounters> TieredHost::counters() const {
  std::vector<VmCounters> all = counters_;
  for (std::size_t vm = 0; vm < all.size(); ++vm) {
    VmCounters& of = all[vm];
    const auto& [reads, writes] = found_[vm];
    for (std::size_t k = 0; k <= backend(); ++k) {
      of.accesses += reads[k] + writes[k];
      of.writes += writes[k];
    }
    of.accesses += of.staged_hits + of.delayed_hits;
    of.staged_ns = of.staged_hits * staged_ns_.value_or(0);
    of.misses = reads[backend()] + writes[backend()];
    of.write_misses = writes[backend()];
    of.backend_reads = reads[backend()];
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      of.tiers[k].hits = reads[k] + writes[k];
      of.tiers[k].write_hits = writes[k];
      of.tiers[k].target = tiers_[k].target(part(VmId(vm)));
    }
    dirty_.add_counts(vm, of);
  }
  return all;
}

absl::Status TieredHost::save(ArchiveWriter& to) {
  if (observers_.probe != nullptr) {
    return absl::FailedPreconditionError("a host with a cache probe cannot be saved");
  }
  to(chain_, tiers_.size(), part_of_);
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    MCSIM_RETURN_IF_ERROR(in_tier(k, tiers_[k].save(to)));
  }
  to(dirty_, admission_, counters_, found_, clocks_, fetches_);
  return absl::OkStatus();
}

absl::Status TieredHost::load(ArchiveReader& from) {
  Chain chain{};
  std::size_t tiers = 0;
  std::vector<std::size_t> part_of;
  from.limit_blocks(blocks_);
  from(chain, tiers, part_of);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (chain != chain_ || tiers != tiers_.size() || part_of != part_of_) {
    return invalid_argument("the state is one of another chain, or of other VMs");
  }
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    MCSIM_RETURN_IF_ERROR(in_tier(k, tiers_[k].load(from)));
  }
  std::vector<TierClock> clocks;
  from(dirty_, admission_, counters_, found_, clocks, fetches_);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (clocks.size() != clocks_.size()) return invalid_argument("the state has other clocks");
  // Ticks keep their times, unless this trace has earlier ones.
  for (std::size_t k = 0; k < clocks.size(); ++k) {
    if (clocks[k].begin <= clocks_[k].begin) clocks_[k].next = clocks[k].next;
  }
  return check_invariants();
}

}  // namespace mcsim
