#include "core/engine/tiered_host.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/next_use.hpp"

namespace mcsim {

// The VM of an access some way ahead; accesses are asked for in order.
class TieredHost::LookAhead {
 public:
  LookAhead(const Accesses& trace, std::size_t request) : trace_(trace), request_(request) {}

  std::size_t vm_of(std::size_t access) {
    while (trace_.request_begin[request_ + 1] <= access) ++request_;
    return trace_.request_vm[request_];
  }

 private:
  const Accesses& trace_;
  std::size_t request_;
};

namespace {

// The target of each part of a tier: what its VMs are granted together.
std::vector<Count> by_part(std::span<const Count> targets, std::span<const std::size_t> part_of) {
  std::vector<Count> sums(*std::ranges::max_element(part_of) + 1, 0);
  for (std::size_t vm = 0; vm < targets.size(); ++vm) sums[part_of[vm]] += targets[vm];
  return sums;
}

}  // namespace

TieredHost::TieredHost(TieredSetup setup, const Accesses& trace)
    : chain_(setup.chain),
      tiers_(std::move(setup.tiers)),
      table_(std::move(setup.table)),
      part_of_(std::move(setup.part_of)),
      any_slots_(std::ranges::any_of(tiers_, &Tier::has_slots)),
      changeable_(setup.changeable),
      blocks_(trace.id_count()),
      line_blocks_(trace.line_blocks),
      owners_(trace),
      book_(std::move(setup.writes), trace, one_copy() ? Copies::kOne : Copies::kSeveral),
      gate_(trace.vms.size()),
      staged_ns_(tiers_.back().staged_ns()),
      counters_(trace.vms.size()),
      found_(trace.vms.size()) {
  for (VmCounters& vm : counters_) vm.tiers.resize(tiers_.size());
}

absl::StatusOr<std::unique_ptr<TieredHost>> TieredHost::make(TieredSetup setup,
                                                             const Accesses& trace) {
  if (setup.tiers.empty() || setup.tiers.size() > kMaxTiers) {
    return invalid_argument("tiers: expected 1 to {}, got {}", kMaxTiers, setup.tiers.size());
  }
  std::unique_ptr<TieredHost> host(new TieredHost(std::move(setup), trace));
  if (std::ranges::any_of(host->tiers_, &Tier::needs_next_use)) {
    MCSIM_ASSIGN_OR_RETURN(host->next_uses_,
                           next_uses(trace.ids, trace.id_count(), trace.line_blocks));
    host->next_use_of_ = Pages<NextUse>(host->tiers_.size() * trace.id_count());
  }
  if (host->batchable()) {
    host->batches_.emplace(host->tiers_, host->part_of_, host->owners_, host->book_,
                           host->next_uses_, host->next_use_of_);
  }
  return host;
}

// Whether blocks have one copy, and every one comes into the fastest tier.
bool TieredHost::unfiltered() const {
  return one_copy() && std::ranges::none_of(tiers_, &Tier::has_filter);
}

// Whether no tier needs to know what a slower one does.
bool TieredHost::batchable() const {
  return unfiltered() && !(knows_future() && line_blocks_ > 1) &&
         std::ranges::all_of(tiers_, &Tier::independent_parts);
}

void TieredHost::replay(const Accesses& trace, RequestRange range) {
  while (range.begin < range.end) {
    if (book_.flush_due(trace.request_time[range.begin])) flush();
    const RequestRange until_flush{range.begin, book_.next_flush(trace, range)};
    serve(trace, until_flush);
    range.begin = until_flush.end;
  }
}

void TieredHost::serve(const Accesses& trace, RequestRange range) {
  // What is written around stays where it is, or the oldest of all parts has to go: parts do
  // not know of each other. Nor does a tier know whether those below it hold a block.
  const bool singly = (book_.rules().update_around && book_.any(WriteMode::kAround)) ||
                      (book_.limited() && book_.any(WriteMode::kBack)) ||
                      (book_.flushes() && range.end - range.begin < kWorthABatch) ||
                      gate_.any_shut();
  if (batches_ && !singly && meters_ == nullptr) {
    batches_->replay(trace, range, counters_, found_);
  } else if (in_logs()) {
    replay_logs(trace, range);
  } else if (unfiltered() && !knows_future() && !gate_.any_shut()) {
    replay_as<Plain>(trace, range);
  } else {
    replay_as<Nothing>(trace, range);
  }
}

// Whether tiers are LRU in logs, nothing is kept out, and nobody is to be told.
bool TieredHost::in_logs() const {
  return !one_copy() && !gate_.any_shut() && meters_ == nullptr &&
         std::ranges::all_of(tiers_, &Tier::only_logs);
}

void TieredHost::replay_logs(const Accesses& trace, RequestRange range) {
  switch (chain_) {
    case Chain::kExclusive:
      break;
    case Chain::kVictim:
      return replay_logs_of<Chain::kVictim>(trace, range);
    case Chain::kInclusive:
      return replay_logs_of<Chain::kInclusive>(trace, range);
    case Chain::kIndependent:
      return replay_logs_of<Chain::kIndependent>(trace, range);
  }
  __builtin_unreachable();
}

template <Chain kChain>
void TieredHost::replay_logs_of(const Accesses& trace, RequestRange range) {
  if (tiers_.size() == 2) return replay_as<Logs<kChain, 2>>(trace, range);
  if (tiers_.size() == 3) return replay_as<Logs<kChain, 3>>(trace, range);
  replay_as<Logs<kChain, 0>>(trace, range);
}

// Towards the accesses after this one.
template <class Known>
void TieredHost::look_ahead(std::span<const BlockId> ids, std::size_t i, LookAhead& near) const {
  if (i + kIndexAhead >= ids.size()) return;
  const BlockId far = ids[i + kIndexAhead];
  if (book_.dirty() > 0) book_.prefetch(far);
  if (Known::kLogs || !any_slots_) {
    for (std::size_t k = 0; k < backend<Known>(); ++k) tier<Known>(k).prefetch(far);
    return;
  }
  table_->prefetch(far);
  const BlockId soon = ids[i + kSlotAhead];
  const std::size_t own = part(near.vm_of(i + kSlotAhead));
  for (std::size_t k = 0; k < backend<Known>(); ++k) {
    if (!tier<Known>(k).has_slots()) {
      tier<Known>(k).prefetch(far);
    } else if (has_slot<Known>(soon, k)) {
      tier<Known>(k).prefetch_slot(own, soon);
    }
  }
}

// Towards what becomes of the tier's victims after this one.
template <class Known>
void TieredHost::look_ahead_of_victims(std::size_t from, std::size_t vm) const {
  const BlockId soon = tier<Known>(from).soon_leaves(part(vm));
  if (book_.dirty() > 0) book_.prefetch(soon);
  for (std::size_t k = 0; k < backend<Known>(); ++k) {
    if (k != from) tier<Known>(k).prefetch(soon);
  }
}

template <class Known>
void TieredHost::replay_as(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  LookAhead near(trace, range.begin);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::size_t begin = trace.request_begin[r];
    const std::size_t end = trace.request_begin[r + 1];
    if (begin == end) continue;
    const Request request{.vm = trace.request_vm[r], .blocks = static_cast<Count>(end - begin)};
    const Op op = static_cast<Op>(trace.request_op[r]);
    std::array<Count, kMaxTiers + 1>& found = found_[request.vm][trace.request_op[r]];
    Served& served = counters_[request.vm].served(op);
    std::size_t slowest = 0;
    Count staged = 0;
    for (std::size_t i = begin; i < end; ++i) {
      look_ahead<Known>(ids, i, near);
      Access<> a{.block = ids[i], .op = op};
      if (!Known::kBare && knows_future()) {
        a.next_use = next_uses_[i];
        for (std::size_t k = 0; k < backend<Known>(); ++k) next_use(k, a.block) = a.next_use;
      }
      const Outcome outcome = op == Op::kRead ? fetch<Known>(request, a) : write<Known>(request, a);
      if (!Known::kBare && outcome.staged) {
        ++staged;
        continue;
      }
      ++found[outcome.found];
      ++served.blocks[outcome.served_by];
      slowest = std::max(slowest, outcome.served_by);
    }
    if (Known::kBare || staged == 0) {
      ++served.requests[slowest];
      continue;
    }
    VmCounters& counts = counters_[request.vm];
    counts.staged_hits += staged;
    ++(staged == request.blocks ? counts.staged_requests : served.requests[slowest]);
  }
}

template <class Known>
TieredHost::Outcome TieredHost::write(const Request& request, const Access<>& a) {
  switch (book_.mode(request.vm)) {
    case WriteMode::kThrough:
      return write_through<Known>(request, a);
    case WriteMode::kBack:
      return write_to_cache<Known>(request, a);
    case WriteMode::kAround:
      return write_around<Known>(request, a);
  }
  __builtin_unreachable();
}

template <class Known>
TieredHost::Outcome TieredHost::write_through(const Request& request, const Access<>& a) {
  Outcome outcome = fetch<Known>(request, a);
  ++counters_[request.vm].backend_writes;
  outcome.served_by = backend<Known>();
  if (outcome.top == backend<Known>()) return outcome;
  // What came into a tier came with its new data.
  if (outcome.top == outcome.found) ++count(request.vm, outcome.top).updates;
  if (!one_copy<Known>()) update_from<Known>(outcome.low + 1, request.vm, a.block);
  return outcome;
}

template <class Known>
TieredHost::Outcome TieredHost::write_to_cache(const Request& request, const Access<>& a) {
  // From now on all copies are old, those too that are pushed down by what the block's
  // coming in sets off. The newest is above them, wherever that will be.
  const bool was_clean = book_.mark(request.vm, a.block);
  Outcome outcome = fetch<Known>(request, a);
  const std::size_t came_into = outcome.top;
  if (one_copy<Known>()) {
    while (outcome.top < backend<Known>() &&
           !tier<Known>(outcome.top).holds(part(request.vm), a.block)) {
      ++outcome.top;
    }
  }
  outcome.served_by = outcome.top;
  if (came_into == backend<Known>()) {
    // No tier let it in.
    if (was_clean) book_.unmark(request.vm, a.block);
    ++counters_[request.vm].backend_writes;
    return outcome;
  }
  if (came_into == outcome.found) ++count(request.vm, came_into).updates;
  if (outcome.low > 0) book_.move(a.block, 0, outcome.low);
  while (book_.too_many()) write_back<Nothing>(book_.oldest());
  return outcome;
}

template <class Known>
TieredHost::Outcome TieredHost::write_around(const Request& request, const Access<>& a) {
  if (!Known::kBare && !book_.rules().update_around) drop_staged(a.block);
  std::size_t found = backend<Known>();
  for (std::size_t k = backend<Known>(); k-- > 0;) {
    TierCounters& counts = count(request.vm, k);
    if (book_.rules().update_around) {
      if (!tier<Known>(k).touch(part(request.vm), a)) continue;
      ++counts.updates;
    } else {
      if (!tier<Known>(k).take(part(request.vm), a.block)) continue;
      ++counts.invalidations;
      --counts.occupancy;
    }
    found = k;
  }
  if (metered<Known>() && found < backend<Known>()) {
    if (book_.rules().update_around) {
      meters_->access(request.vm, a.block, true, true);
    } else {
      meters_->left(request.vm, a.block);
    }
  }
  ++counters_[request.vm].backend_writes;
  return {found, backend<Known>(), backend<Known>(), backend<Known>()};
}

// Looks for the block from the fastest tier on, and brings it up as the chain has it.
template <class Known>
TieredHost::Outcome TieredHost::fetch(const Request& request, const Access<>& a) {
  if (!Known::kBare && gate_.shut(request.vm) && !holds_any(request.vm, a.block))
    return pass_by(request, a);
  const std::size_t own = part(request.vm);
  const bool in_memory = !Known::kBare && a.op == Op::kRead && staged(a.block);
  unsigned admitted = 0;  // by tier, a bit each
  std::size_t found = 0;
  for (; found < backend<Known>(); ++found) {
    Tier& here = tier<Known>(found);
    if constexpr (!Known::kBare) here.record(a.block);
    const bool move = one_copy<Known>() && admitted != 0;
    if (has_slot<Known>(a.block, found) && (move ? here.take(own, a.block) : here.touch(own, a)))
      break;
    if (demotes<Known>() && admitted != 0) continue;
    const bool lets_in = admits<Known>(found, request, a.block);
    admitted |= static_cast<unsigned>(lets_in) << found;
  }
  if (metered<Known>()) {
    meters_->access(request.vm, a.block, found < backend<Known>(),
                    found < backend<Known>() || admitted != 0);
  }
  const bool from_memory = in_memory && found == backend<Known>();
  if (found == 0 || admitted == 0) return {found, found, found, found, from_memory};
  if (one_copy<Known>() && found < backend<Known>()) {
    TierCounters& left = count(request.vm, found);
    ++left.moved_up;
    --left.occupancy;
  }
  Outcome outcome = enter<Known>(request, a, found, admitted);
  outcome.staged = from_memory;
  return outcome;
}

// No tier holds the block, and none may. Data that is staged serves, and stays where it is.
TieredHost::Outcome TieredHost::pass_by(const Request& request, const Access<>& a) {
  for (Tier& tier : tiers_) tier.record(a.block);
  if (meters_ != nullptr) meters_->access(request.vm, a.block, false, false);
  return {backend(), backend(), backend(), backend(), a.op == Op::kRead && staged(a.block)};
}

// Brings a block that `found` had into the tiers above that admit it: the fastest of
// them, or all. In an inclusive chain, one that does not keeps it from those above.
template <class Known>
TieredHost::Outcome TieredHost::enter(const Request& request, const Access<>& a, std::size_t found,
                                      unsigned admitted) {
  Outcome outcome{found, found, found, found};
  if (one_copy<Known>()) {
    const auto fastest = static_cast<std::size_t>(std::countr_zero(admitted));
    TierCounters& counts = count(request.vm, fastest);
    ++(found == backend<Known>() ? counts.fills : counts.promotions);
    insert<Known>(fastest, request, a);
    outcome.top = outcome.low = fastest;
    return outcome;
  }
  for (std::size_t k = found; k-- > 0;) {
    const bool wanted = (admitted >> k & 1) != 0;
    if (!wanted && chain<Known>() == Chain::kInclusive) break;
    if (!wanted) continue;
    TierCounters& counts = count(request.vm, k);
    ++(found == backend<Known>() ? counts.fills : counts.promotions);
    insert<Known>(k, request, a);
    if (outcome.top == found) outcome.low = k;
    outcome.top = k;
  }
  // Victims of the faster tiers may have pushed it out of slower ones.
  while (outcome.low > outcome.top && !tier<Known>(outcome.low).holds(part(request.vm), a.block)) {
    --outcome.low;
  }
  return outcome;
}

template <class Known>
void TieredHost::insert(std::size_t to, const Request& request, const Access<>& a) {
  ++count(request.vm, to).occupancy;
  if constexpr (Known::kLogs) {
    const BlockId victim = tier<Known>(to).insert_in_log(part(request.vm), a.block);
    if (victim != kNoBlock) leave<Known>(to, victim, request.blocks);
  } else {
    std::vector<BlockId>& victims = victims_[to];
    tiers_[to].insert(part(request.vm), a, victims);
    for (const BlockId victim : victims) leave<Known>(to, victim, request.blocks);
    victims.clear();
  }
}

// A block was a victim of the tier: on to the next one, or out.
template <class Known>
void TieredHost::leave(std::size_t from, BlockId block, Count request_blocks) {
  const Request owner{.vm = owners_.vm_of(block), .blocks = request_blocks};
  TierCounters& left = count(owner.vm, from);
  --left.occupancy;
  if (Known::kLogs || !any_slots_) look_ahead_of_victims<Known>(from, owner.vm);
  if (chain<Known>() == Chain::kInclusive) drop_above<Known>(from, owner.vm, block);
  bool newest = book_.dirty() > 0 && book_.dirty(block, from);
  if (!one_copy<Known>() && newest && book_.dirty_above(block, from)) {
    book_.outdate(block, from);
    newest = false;
  }
  if ((newest || demotes<Known>()) && push_down<Known>(from, owner, block, newest)) {
    ++left.moved_down;
    return;
  }
  ++left.evictions;
  if (newest) write_back<Known>(block);
  if (metered<Known>() && (one_copy<Known>() || !holds_any(owner.vm, block))) {
    meters_->evicted(owner.vm, block);
  }
}

// To the first of the slower tiers that has the block or takes it; false if none does.
template <class Known>
bool TieredHost::push_down(std::size_t from, const Request& owner, BlockId block, bool dirty) {
  Access<> a{.block = block, .op = dirty && !Known::kPlain ? Op::kWrite : Op::kRead};
  if (!Known::kBare && knows_future()) a.next_use = next_use(from, block);
  for (std::size_t k = from + 1; k < backend<Known>(); ++k) {
    const bool has_copy = !one_copy<Known>() && tier<Known>(k).touch(part(owner.vm), a);
    if (!has_copy && !admits<Known>(k, owner, block)) continue;
    if (dirty) book_.move(block, from, k);
    if (has_copy) {
      count(owner.vm, k).updates += dirty ? 1 : 0;
    } else {
      ++count(owner.vm, k).demotions;
      if (!Known::kBare && knows_future()) next_use(k, block) = a.next_use;
      insert<Known>(k, owner, a);
    }
    return true;
  }
  return false;
}

// The copies above go with the one that leaves, and leave it what they have that is new.
template <class Known>
void TieredHost::drop_above(std::size_t below, std::size_t vm, BlockId block) {
  for (std::size_t k = 0; k < below; ++k) {
    if (!tier<Known>(k).take(part(vm), block)) continue;
    ++count(vm, k).invalidations;
    --count(vm, k).occupancy;
    if (book_.dirty(block, k)) book_.move(block, k, below);
  }
}

// Writes new data into the copies that this tier and slower ones have.
template <class Known>
void TieredHost::update_from(std::size_t from, std::size_t vm, BlockId block) {
  if (one_copy<Known>()) return;
  for (std::size_t k = from; k < backend<Known>(); ++k) {
    if (tier<Known>(k).holds(part(vm), block)) ++count(vm, k).updates;
  }
}

// The newest copy is written into those below it, too.
template <class Known>
void TieredHost::write_back(BlockId block) {
  const std::size_t vm = owners_.vm_of(block);
  if (!one_copy<Known>()) {
    std::size_t newest = 0;
    while (!book_.dirty(block, newest)) ++newest;
    update_from<Known>(newest + 1, vm, block);
  }
  book_.write_back(vm, block);
}

void TieredHost::flush() {
  while (book_.dirty() > 0) write_back<Nothing>(book_.oldest());
}

absl::Status TieredHost::set_write_modes(std::span<const WriteMode> modes) {
  return book_.set_modes(modes, owners_, [&](BlockId block) { write_back<Nothing>(block); });
}

absl::Status TieredHost::set_admission(const std::vector<bool>& admits) {
  return gate_.set(admits);
}

Actions TieredHost::supports() const {
  Actions all{Action::kWriteModes, Action::kAdmission};
  if (changeable_) all.add(Action::kTargets);
  return all;
}

absl::Status TieredHost::failure() const {
  for (const Tier& tier : tiers_) MCSIM_RETURN_IF_ERROR(tier.failure());
  return absl::OkStatus();
}

absl::Status TieredHost::attach(HostMeters& meters) {
  meters_ = &meters;
  return absl::OkStatus();
}

void TieredHost::release(std::size_t vm) {
  for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) drop(vm, id);
}

// From below, so that the newest copy is not written into those that go with it.
void TieredHost::drop(std::size_t vm, BlockId block) {
  drop_staged(block);
  if (meters_ != nullptr && holds_any(vm, block)) meters_->left(vm, block);
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    if (!tiers_[k].take(part(vm), block)) continue;
    ++count(vm, k).invalidations;
    --count(vm, k).occupancy;
    if (!book_.dirty(block, k)) continue;
    if (book_.dirty_above(block, k)) {
      book_.outdate(block, k);
    } else {
      write_back<Nothing>(block);
    }
  }
}

absl::Status TieredHost::resize(const Allocation& targets) {
  if (!changeable_) {
    return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
  }
  std::vector<Count> capacities;
  for (const Tier& tier : tiers_) capacities.push_back(tier.capacity());
  MCSIM_RETURN_IF_ERROR(check_targets(targets, capacities, counters_.size()));
  // From below, so that what a tier gives up finds the room that there will be.
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    std::vector<BlockId> victims;
    tiers_[k].retarget(by_part(targets.tier(k), part_of_), victims);
    for (const BlockId victim : victims) leave<Nothing>(k, victim, 1);
  }
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
    of.accesses += of.staged_hits;
    of.staged_ns = of.staged_hits * staged_ns_.value_or(0);
    of.misses = reads[backend()] + writes[backend()];
    of.write_misses = writes[backend()];
    of.backend_reads = reads[backend()];
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      of.tiers[k].hits = reads[k] + writes[k];
      of.tiers[k].write_hits = writes[k];
      of.tiers[k].target = tiers_[k].target(part(vm));
    }
    book_.count(vm, of);
  }
  return all;
}

// Besides what each tier checks: who holds what is what was counted, copies are where the
// chain allows them, and what is dirty is held.
absl::Status TieredHost::check_invariants() const {
  for (const Tier& tier : tiers_) MCSIM_RETURN_IF_ERROR(tier.check());
  std::vector<Count> held(tiers_.size() * counters_.size(), 0);
  for (BlockId block = 0; block < blocks_; ++block) {
    const std::size_t vm = owners_.vm_of(block);
    unsigned where = 0;
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      const bool holds = tiers_[k].holds(part(vm), block);
      where |= static_cast<unsigned>(holds) << k;
      held[k * counters_.size() + vm] += holds ? 1 : 0;
      if (!one_copy() && book_.dirty(block, k) && !holds) {
        return internal_error("block {} is dirty in tier {}, which does not hold it", block, k);
      }
    }
    if (book_.dirty(block) && where == 0) {
      return internal_error("block {} is dirty, and no tier holds it", block);
    }
    const unsigned all_below = ((1U << tiers_.size()) - 1) & ~((where & (0U - where)) - 1);
    if (one_copy() && std::popcount(where) > 1) {
      return internal_error("block {} is in several tiers of an exclusive chain", block);
    }
    if (chain_ == Chain::kInclusive && where != 0 && where != all_below) {
      return internal_error("block {} is not in all tiers below its fastest", block);
    }
  }
  for (std::size_t vm = 0; vm < counters_.size(); ++vm) {
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      const Count found = held[k * counters_.size() + vm];
      if (found == counters_[vm].tiers[k].occupancy) continue;
      return internal_error("VM {} holds {} blocks of tier {}, counted {}", vm, found, k,
                            counters_[vm].tiers[k].occupancy);
    }
  }
  return absl::OkStatus();
}

}  // namespace mcsim
