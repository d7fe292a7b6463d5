#include "core/engine/tiered_host.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/host_meters.hpp"
#include "core/engine/next_use.hpp"

namespace mcsim {

// The VM of an access some way ahead; accesses are asked for in order.
class TieredHost::LookAhead {
 public:
  LookAhead(const Accesses& trace, std::size_t request) : trace_(trace), request_(request) {}

  VmId vm_of(std::size_t access) {
    while (trace_.request_begin[request_ + 1] <= access) ++request_;
    return trace_.request_vm[request_];
  }

 private:
  const Accesses& trace_;
  std::size_t request_;
};

namespace {

// Around, through, back: what of it may follow what, where a tier has what faster ones have.
int when_inclusive(WriteMode mode) {
  return mode == WriteMode::kAround ? 0 : mode == WriteMode::kThrough ? 1 : 2;
}

// The fastest of some tiers, a bit each; or one that they are all faster than, if there are none.
std::size_t fastest_of(unsigned tiers, std::size_t below) {
  return tiers == 0 ? below : static_cast<std::size_t>(std::countr_zero(tiers));
}

// Those that a block comes into in an inclusive chain: one that does not let it in keeps it from
// those above.
unsigned without_gaps(unsigned tiers, std::size_t found) {
  std::size_t top = found;
  while (top > 0 && (tiers >> (top - 1) & 1) != 0) --top;
  return tiers >> top << top;
}

// The target of each part of a tier: what its VMs are granted together.
std::vector<Count> by_part(std::span<const Count> targets, std::span<const std::size_t> part_of) {
  std::vector<Count> sums(*std::ranges::max_element(part_of) + 1, 0);
  for (std::size_t vm = 0; vm < targets.size(); ++vm) sums[part_of[vm]] += targets[vm];
  return sums;
}

}  // namespace

absl::Status check_chain_writes(Chain chain, const ModesByTier& modes, bool stages_data) {
  for (std::size_t k = 1; k < modes.size(); ++k) {
    for (std::size_t vm = 0; vm < modes[k].size(); ++vm) {
      const WriteMode above = modes[k - 1][vm];
      const WriteMode here = modes[k][vm];
      if (stages_data && here != above) {
        return invalid_argument(
            "beside data that is staged a VM writes all tiers in one mode, not {} in one and {} in "
            "another",
            name_of(above), name_of(here));
      }
      if (chain == Chain::kExclusive && here != above) {
        return invalid_argument(
            "an exclusive chain has one copy of a block, which cannot be written {} in one tier "
            "and {} in another; victim, inclusive and independent chains have several",
            name_of(above), name_of(here));
      }
      if (chain == Chain::kInclusive && when_inclusive(here) < when_inclusive(above)) {
        return invalid_argument(
            "in an inclusive chain a tier has what faster ones have: it cannot be written {} below "
            "one that is written {}; the order is around, through, back",
            name_of(here), name_of(above));
      }
    }
  }
  return absl::OkStatus();
}

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
  MCSIM_RETURN_IF_ERROR(check_chain_writes(setup.chain, setup.writes.by_tier,
                                           setup.tiers.back().staged_ns().has_value()));
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
  if (!host->one_copy() && host->tiers_.size() <= CopyChain::kMostTiers &&
      std::ranges::all_of(host->tiers_, &Tier::only_logs)) {
    host->copies_.emplace(host->chain_, host->tiers_, *host->table_, host->part_of_, host->owners_,
                          host->gate_, host->book_, static_cast<CopyChain::Rest&>(*host));
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
  if (meters_ != nullptr) meters_->settle();
}

void TieredHost::serve(const Accesses& trace, RequestRange range) {
  // What is written around stays where it is, or the oldest of all parts has to go: parts do
  // not know of each other. Nor does a tier know whether those below it hold a block.
  const bool singly = gate_.any_shut() || (book_.limited() && book_.any(WriteMode::kBack)) ||
                      (book_.rules().update_around && book_.any(WriteMode::kAround)) ||
                      (book_.flushes() && range.end - range.begin < kWorthABatch);
  if (batches_ && !singly) {
    batches_->replay(trace, range, counters_, found_);
  } else if (copies_) {
    copies_->replay(trace, range, counters_, found_);
  } else if (unfiltered() && !knows_future() && !gate_.any_shut()) {
    replay_as<Plain>(trace, range);
  } else {
    replay_as<Nothing>(trace, range);
  }
}

void TieredHost::serve_singly(const Accesses& trace, std::size_t request) {
  replay_as<Nothing>(trace, {request, request + 1});
}

// Towards the accesses after this one.
void TieredHost::look_ahead(std::span<const BlockId> ids, std::size_t i, LookAhead& near) const {
  if (i + kIndexAhead >= ids.size()) return;
  const BlockId far = ids[i + kIndexAhead];
  if (book_.dirty() > 0) book_.prefetch(far);
  if (meters_ != nullptr) meters_->prefetch(far);
  table_->prefetch(far);
  if (!any_slots_) return;
  const BlockId soon = ids[i + kSlotAhead];
  const std::size_t own = part(near.vm_of(i + kSlotAhead));
  for (std::size_t k = 0; k < backend(); ++k) {
    if (has_slot(soon, k)) tiers_[k].prefetch_slot(own, soon);
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
    const Request request = request_of(trace.request_vm[r], static_cast<Count>(end - begin));
    const Op op = static_cast<Op>(trace.request_op[r]);
    std::array<Count, kMaxTiers + 1>& found = found_[request.vm][trace.request_op[r]];
    Served& served = counters_[request.vm].served(op);
    std::size_t slowest = 0;
    Count staged = 0;
    for (std::size_t i = begin; i < end; ++i) {
      look_ahead(ids, i, near);
      Access<> a{.block = ids[i], .op = op};
      if (!Known::kPlain && knows_future()) {
        a.next_use = next_uses_[i];
        for (std::size_t k = 0; k < backend(); ++k) next_use(k, a.block) = a.next_use;
      }
      const Outcome outcome = op == Op::kRead ? fetch<Known>(request, a) : write<Known>(request, a);
      if (!Known::kPlain && outcome.staged) {
        ++staged;
        continue;
      }
      ++found[outcome.found];
      ++served.blocks[outcome.served_by];
      slowest = std::max(slowest, outcome.served_by);
    }
    if (Known::kPlain || staged == 0) {
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
  switch (book_.way(request.vm)) {
    case WriteBook::Way::kThrough:
      return write_through<Known>(request, a);
    case WriteBook::Way::kBack:
      return write_to_cache<Known>(request, a);
    case WriteBook::Way::kAround:
      return write_around(request, a);
    case WriteBook::Way::kByTier:
      return write_by_tier(request, a);
  }
  __builtin_unreachable();
}

template <class Known>
TieredHost::Outcome TieredHost::write_through(const Request& request, const Access<>& a) {
  Outcome outcome = fetch<Known>(request, a);
  ++counters_[request.vm].backend_writes;
  outcome.served_by = backend();
  if (outcome.top == backend()) return outcome;
  // What came into a tier came with its new data.
  if (outcome.top == outcome.found) ++request.tiers[outcome.top].updates;
  if (!one_copy<Known>()) update_from<Known>(outcome.low + 1, request, a.block);
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
    while (outcome.top < backend() && !tiers_[outcome.top].holds(request.part, a.block)) {
      ++outcome.top;
    }
  }
  outcome.served_by = outcome.top;
  if (came_into == backend()) {
    // No tier let it in.
    if (was_clean) book_.unmark(request.vm, a.block);
    ++counters_[request.vm].backend_writes;
    return outcome;
  }
  if (came_into == outcome.found) ++request.tiers[came_into].updates;
  if (outcome.low > 0) book_.move(a.block, 0, outcome.low);
  while (book_.too_many()) write_back<Nothing>(book_.oldest());
  return outcome;
}

TieredHost::Outcome TieredHost::write_around(const Request& request, const Access<>& a) {
  if (!book_.rules().update_around) drop_staged(a.block);
  const std::size_t fastest = meters_ == nullptr ? backend() : fastest_with(request.vm, a.block);
  if (fastest < backend()) {
    look(fastest, request, a.block);
    meters_->around(request.vm, a.block, fastest, book_.rules().update_around);
  }
  std::size_t found = backend();
  for (std::size_t k = backend(); k-- > 0;) {
    if (write_past(k, request, a)) found = k;
  }
  ++counters_[request.vm].backend_writes;
  return {found, backend(), backend(), backend()};
}

// Around the tier: a copy there leaves, or is updated. False if it has none.
bool TieredHost::write_past(std::size_t k, const Request& request, const Access<>& a) {
  if (!book_.rules().update_around) return invalidate(k, request, a.block);
  if (!tiers_[k].touch(request.part, a)) return false;
  ++request.tiers[k].updates;
  if (meters_ != nullptr) meters_->used(k, request.vm, a.block);
  return true;
}

// The tier's copy leaves without being a victim; false if it has none.
bool TieredHost::invalidate(std::size_t k, const Request& owner, BlockId block) {
  if (!tiers_[k].take(owner.part, block)) return false;
  TierCounters& left = owner.tiers[k];
  ++left.invalidations;
  --left.occupancy;
  if (meters_ != nullptr) meters_->left_from(k, owner.vm, block);
  return true;
}

TieredHost::Outcome TieredHost::write_by_tier(const Request& request, const Access<>& a) {
  const VmId vm = request.vm;
  if (gate_.shut(vm) && !holds_any(vm, a.block)) {
    ++counters_[vm].backend_writes;
    return pass_by(request, a);
  }
  const Route route = route_of(request, a);
  const std::size_t end = route.end;
  const auto enters = [&](std::size_t k) { return (route.enters >> k & 1) != 0; };
  if (end < backend()) {
    book_.mark(vm, a.block);  // as in write_to_cache
  } else {
    ++counters_[vm].backend_writes;
  }
  // Where it ends comes last: who comes in before may push the block out of slower tiers.
  for (std::size_t k = end; k-- > 0;) {
    if (enters(k)) bring_in(k, request, a, route);
  }
  for (std::size_t k = tiers_.size(); k-- > end + 1;) {
    if (enters(k)) bring_in(k, request, a, route);
  }
  std::size_t low = end;
  if (end < backend()) {
    // Those that came in may have taken the room that others left it: then it goes on at once.
    if (end > 0) book_.move(a.block, 0, end);
    write_at_end(request, a, route);
    for (std::size_t k = end + 1; k < tiers_.size(); ++k) {
      if (enters(k) && holds(k, vm, a.block)) low = k;
    }
    if (low > end && book_.dirty(a.block, end)) book_.move(a.block, end, low);
  }
  // Copies that there were, and those that victims pushed further down just now.
  for (std::size_t k = 0; k < end; ++k) {
    if (book_.mode(vm, k) == WriteMode::kAround) {
      write_past(k, request, a);
    } else if (!enters(k) && holds(k, vm, a.block)) {
      ++request.tiers[k].updates;
    }
  }
  while (book_.too_many()) write_back<Nothing>(book_.oldest());
  return {route.held, route.found, low, end};
}

void TieredHost::write_at_end(const Request& request, const Access<>& a, const Route& route) {
  const std::size_t end = route.end;
  const bool looked = end == route.found;
  if (looked ? holds(end, request.vm, a.block) : tiers_[end].touch(request.part, a)) {
    ++request.tiers[end].updates;
    if (meters_ != nullptr && !looked) meters_->used(end, request.vm, a.block);
  } else {
    bring_in(end, request, a, route);
  }
}

// From the fastest tier on.
TieredHost::Route TieredHost::route_of(const Request& request, const Access<>& a) {
  Route route{.held = backend(), .found = backend(), .end = backend()};
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (book_.mode(request.vm, k) != WriteMode::kAround) {
      look_in(k, request, a, route);
    } else if (holds(k, request.vm, a.block)) {
      route.held = std::min(route.held, k);
      // It is old from now on: what is new must not come in below.
      if (route.end < backend()) route.found = std::min(route.found, k);
    }
  }
  if (chain_ == Chain::kInclusive) keep_inclusive(route);
  if (meters_ != nullptr) tell_route(request, a, route);
  return route;
}

// Tiers that are written around are not asked, but for the fastest copy if that is updated.
void TieredHost::tell_route(const Request& request, const Access<>& a, const Route& route) {
  const VmId vm = request.vm;
  const bool held = route.held < backend();
  const bool updated = held && book_.rules().update_around;
  const bool stays = route.enters != 0 || route.found < backend() || updated;
  if (held && !stays) {
    meters_->left(vm, a.block);
  } else if (held || route.asked != 0) {
    meters_->settle();
    meters_->access_whole(vm, a.block, held, stays);
  }
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if ((route.asked >> k & 1) != 0) meters_->asked(k, vm, a.block, k == route.found);
  }
  if (updated && book_.mode(vm, route.held) == WriteMode::kAround && route.held < route.end) {
    look(route.held, request, a.block);
    meters_->asked(route.held, vm, a.block, true);
  }
}

// Whether the tier has the block, or is to, and whether the write ends there.
void TieredHost::look_in(std::size_t k, const Request& request, const Access<>& a, Route& route) {
  const bool found = route.found < backend();
  const bool ended = route.end < backend();
  const bool back = book_.mode(request.vm, k) == WriteMode::kBack;
  if (found && (ended || !back)) return;
  tiers_[k].record(a.block);
  route.asked |= static_cast<unsigned>(!found) << k;
  const bool has = found ? holds(k, request.vm, a.block) : tiers_[k].touch(request.part, a);
  if (has && !found) {
    route.found = k;
    route.held = std::min(route.held, k);
  }
  // Below where it ends those that write through are not reached. Victims make a chain in which a
  // block comes into one tier, and here into the one that it ends at.
  const bool may_enter =
      !has && (back || !ended) && !(demotes<Nothing>() && route.enters != 0 && (ended || !back));
  const bool enters = may_enter && admits<Nothing>(k, request, a.block);
  route.enters |= static_cast<unsigned>(enters) << k;
  if (back && !ended && (has || enters)) route.end = k;
}

// A tier that refuses the block keeps it from those above: then the write ends below it, where
// every tier that is left writes back.
void TieredHost::keep_inclusive(Route& route) {
  route.enters = without_gaps(route.enters, route.found);
  route.end = std::max(route.end, fastest_of(route.enters, route.found));
}

void TieredHost::bring_in(std::size_t to, const Request& request, const Access<>& a,
                          const Route& route) {
  TierCounters& counts = request.tiers[to];
  ++(route.found < backend() && route.found > to ? counts.promotions : counts.fills);
  insert<Nothing>(to, request, a);
}

// Looks for the block from the fastest tier on, and brings it up as the chain has it.
template <class Known>
TieredHost::Outcome TieredHost::fetch(const Request& request, const Access<>& a) {
  if (!Known::kPlain && gate_.shut(request.vm) && !holds_any(request.vm, a.block))
    return pass_by(request, a);
  const std::size_t own = request.part;
  const bool in_memory = !Known::kPlain && a.op == Op::kRead && staged(a.block);
  unsigned admitted = 0;  // by tier, a bit each
  std::size_t found = 0;
  for (; found < backend(); ++found) {
    Tier& here = tiers_[found];
    if constexpr (!Known::kPlain) here.record(a.block);
    const bool move = one_copy<Known>() && admitted != 0;
    if (has_slot(a.block, found) && (move ? here.take(own, a.block) : here.touch(own, a))) break;
    if (demotes<Known>() && admitted != 0) continue;
    const bool lets_in = admits<Known>(found, request, a.block);
    admitted |= static_cast<unsigned>(lets_in) << found;
  }
  if (chain<Known>() == Chain::kInclusive) admitted = without_gaps(admitted, found);
  if (meters_ != nullptr) {
    meters_->access(request.vm, a.block, found, found < backend() || admitted != 0);
  }
  const bool from_memory = in_memory && found == backend();
  if (found == 0 || admitted == 0) return {found, found, found, found, from_memory};
  if (one_copy<Known>() && found < backend()) {
    TierCounters& left = request.tiers[found];
    ++left.moved_up;
    --left.occupancy;
    if (meters_ != nullptr) meters_->left_from(found, request.vm, a.block);
  }
  Outcome outcome = enter<Known>(request, a, found, admitted);
  outcome.staged = from_memory;
  return outcome;
}

// No tier holds the block, and none may. Data that is staged serves, and stays where it is.
TieredHost::Outcome TieredHost::pass_by(const Request& request, const Access<>& a) {
  for (Tier& tier : tiers_) tier.record(a.block);
  if (meters_ != nullptr) meters_->access(request.vm, a.block, backend(), false);
  return {backend(), backend(), backend(), backend(), a.op == Op::kRead && staged(a.block)};
}

// Brings a block that `found` had into the tiers above that admit it: the fastest of
// them, or all.
template <class Known>
TieredHost::Outcome TieredHost::enter(const Request& request, const Access<>& a, std::size_t found,
                                      unsigned admitted) {
  Outcome outcome{found, found, found, found};
  if (one_copy<Known>()) {
    const auto fastest = static_cast<std::size_t>(std::countr_zero(admitted));
    TierCounters& counts = request.tiers[fastest];
    ++(found == backend() ? counts.fills : counts.promotions);
    insert<Known>(fastest, request, a);
    outcome.top = outcome.low = fastest;
    return outcome;
  }
  for (std::size_t k = found; k-- > 0;) {
    if ((admitted >> k & 1) == 0) continue;
    TierCounters& counts = request.tiers[k];
    ++(found == backend() ? counts.fills : counts.promotions);
    insert<Known>(k, request, a);
    if (outcome.top == found) outcome.low = k;
    outcome.top = k;
  }
  // Victims of the faster tiers may have pushed it out of slower ones.
  while (outcome.low > outcome.top && !tiers_[outcome.low].holds(request.part, a.block)) {
    --outcome.low;
  }
  return outcome;
}

template <class Known>
void TieredHost::insert(std::size_t to, const Request& request, const Access<>& a) {
  ++request.tiers[to].occupancy;
  if (meters_ != nullptr) meters_->came_in(to, request.vm, a.block);
  std::vector<BlockId>& victims = victims_[to];
  tiers_[to].insert(request.part, a, victims);
  leave_in_turn<Known>(to, victims, request.blocks);
  victims.clear();
}

// Those that are still to go down are held as yet, for who counts what leaves.
template <class Known>
void TieredHost::leave_in_turn(std::size_t from, std::span<const BlockId> victims,
                               Count request_blocks) {
  const bool counted = meters_ != nullptr && !one_copy<Known>() && victims.size() > 1;
  if (counted) to_leave_.insert(victims.begin(), victims.end());
  for (const BlockId victim : victims) {
    if (counted) to_leave_.erase(to_leave_.find(victim));
    leave<Known>(from, victim, request_blocks);
  }
}

// A block was a victim of the tier: on to the next one, or out.
template <class Known>
void TieredHost::leave(std::size_t from, BlockId block, Count request_blocks) {
  const Request owner = request_of(owners_.vm_of(block), request_blocks);
  TierCounters& left = owner.tiers[from];
  --left.occupancy;
  if (meters_ != nullptr) meters_->evicted_from(from, owner.vm, block);
  // Their logs do so for all else that is known of blocks that may be victims after this one.
  if (!any_slots_) look_ahead_of_victims(tiers_[from].soon_leaves(owner.part));
  if (chain<Known>() == Chain::kInclusive) drop_above(from, owner, block);
  bool newest = book_.dirty() > 0 && book_.dirty(block, from);
  if (!one_copy<Known>() && newest && book_.dirty_above(block, from)) {
    book_.outdate(block, from);
    newest = false;
  }
  if (!one_copy<Known>() && newest && book_.way(owner.vm) == WriteBook::Way::kByTier) {
    if (write_on(from, owner.vm, block)) {
      ++left.moved_down;
      return;
    }
  } else if ((newest || demotes<Known>()) && push_down<Known>(from, owner, block, newest)) {
    ++left.moved_down;
    return;
  } else if (newest) {
    write_back<Known>(block);
  }
  ++left.evictions;
  if (meters_ != nullptr && !meters_->by_tier() &&
      (one_copy<Known>() || !(holds_any(owner.vm, block) || to_leave_.contains(block)))) {
    meters_->evicted(owner.vm, block);
  }
}

void TieredHost::look_ahead_of_victims(BlockId soon) const {
  if (book_.dirty() > 0) book_.prefetch(soon);
  if (meters_ != nullptr) meters_->prefetch(soon);
}

// To the first of the slower tiers that has the block or takes it; false if none does.
template <class Known>
bool TieredHost::push_down(std::size_t from, const Request& owner, BlockId block, bool dirty) {
  Access<> a{.block = block, .op = dirty && !Known::kPlain ? Op::kWrite : Op::kRead};
  if (!Known::kPlain && knows_future()) a.next_use = next_use(from, block);
  for (std::size_t k = from + 1; k < backend(); ++k) {
    const bool has_copy = !one_copy<Known>() && tiers_[k].touch(owner.part, a);
    if (!has_copy && !admits<Known>(k, owner, block)) continue;
    if (meters_ != nullptr && has_copy) meters_->used(k, owner.vm, block);
    if (dirty) book_.move(block, from, k);
    if (has_copy) {
      owner.tiers[k].updates += dirty ? 1 : 0;
    } else {
      ++owner.tiers[k].demotions;
      if (!Known::kPlain && knows_future()) next_use(k, block) = a.next_use;
      insert<Known>(k, owner, a);
    }
    return true;
  }
  return false;
}

// What is new of a victim, as the modes of its VM say; false if no slower tier has the block then.
bool TieredHost::write_on(std::size_t from, VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  Access<> a{.block = block, .op = Op::kWrite};
  if (knows_future()) a.next_use = next_use(from, block);
  bool taken = false;
  for (std::size_t k = from + 1; k < tiers_.size(); ++k) {
    const WriteMode mode = book_.mode(owner.vm, k);
    if (mode == WriteMode::kAround) {
      write_past(k, owner, a);
      continue;
    }
    const bool back = mode == WriteMode::kBack;
    const bool has_copy = tiers_[k].touch(owner.part, a);
    if (!has_copy && ((taken && !back) || !admits<Nothing>(k, owner, block))) continue;
    if (back) book_.move(block, from, k);
    if (has_copy) {
      ++owner.tiers[k].updates;
      if (meters_ != nullptr) meters_->used(k, owner.vm, block);
    } else {
      put_below(k, owner, a);
    }
    if (back) return true;
    taken = true;
  }
  book_.write_back(owner.vm, block);
  return taken;
}

// The block came from a faster tier.
void TieredHost::put_below(std::size_t to, const Request& owner, const Access<>& a) {
  ++owner.tiers[to].demotions;
  if (knows_future()) next_use(to, a.block) = a.next_use;
  insert<Nothing>(to, owner, a);
}

// What is dirty in tiers that do not write back goes to slower ones that do, or to the backend.
void TieredHost::settle(VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (!book_.dirty(block, k) || book_.mode(vm, k) == WriteMode::kBack) continue;
    if (book_.dirty_above(block, k)) {
      book_.outdate(block, k);
      continue;
    }
    const auto takes = [&](std::size_t to) {
      return book_.mode(vm, to) == WriteMode::kBack &&
             (holds(to, vm, block) || admits<Nothing>(to, owner, block));
    };
    std::size_t to = k + 1;
    while (to < tiers_.size() && !takes(to)) ++to;
    if (to == backend()) return write_back<Nothing>(block);
    for (std::size_t between = k + 1; between <= to; ++between) {
      if (between < to) book_.outdate(block, between);
      if (holds(between, vm, block)) ++owner.tiers[between].updates;
    }
    book_.move(block, k, to);
    if (holds(to, vm, block)) continue;
    Access<> a{.block = block, .op = Op::kWrite};
    if (knows_future()) a.next_use = next_use(k, block);
    put_below(to, owner, a);
  }
}

// The copies above go with the one that leaves, and leave it what they have that is new.
void TieredHost::drop_above(std::size_t below, const Request& owner, BlockId block) {
  for (std::size_t k = 0; k < below; ++k) {
    if (!invalidate(k, owner, block)) continue;
    if (book_.dirty(block, k)) book_.move(block, k, below);
  }
}

// Writes new data into the copies that this tier and slower ones have.
template <class Known>
void TieredHost::update_from(std::size_t from, const Request& owner, BlockId block) {
  if (one_copy<Known>()) return;
  for (std::size_t k = from; k < backend(); ++k) {
    if (tiers_[k].holds(owner.part, block)) ++owner.tiers[k].updates;
  }
}

// The newest copy is written into those below it, too.
template <class Known>
void TieredHost::write_back(BlockId block) {
  const VmId vm = owners_.vm_of(block);
  if (!one_copy<Known>()) {
    std::size_t newest = 0;
    while (!book_.dirty(block, newest)) ++newest;
    update_from<Known>(newest + 1, request_of(vm), block);
  }
  book_.write_back(vm, block);
}

void TieredHost::flush() {
  while (book_.dirty() > 0) write_back<Nothing>(book_.oldest());
}

absl::Status TieredHost::set_write_modes(std::span<const WriteMode> modes) {
  return book_.set_modes(modes, owners_, [&](BlockId block) { write_back<Nothing>(block); });
}

absl::Status TieredHost::check_write_modes_by_tier(const ModesByTier& modes) const {
  const std::size_t vms = counters_.size();
  const auto of_all = [&](const std::vector<WriteMode>& tier) { return tier.size() == vms; };
  if (modes.size() == tiers_.size() && std::ranges::all_of(modes, of_all)) {
    return check_chain_writes(chain_, modes, staged_ns_.has_value());
  }
  return invalid_argument("write modes by tier: expected {} tiers x {} VMs, got {} x {}",
                          tiers_.size(), vms, modes.size(), modes.empty() ? 0 : modes[0].size());
}

absl::Status TieredHost::set_write_modes_by_tier(const ModesByTier& modes) {
  MCSIM_RETURN_IF_ERROR(check_write_modes_by_tier(modes));
  book_.set_modes_by_tier(modes, owners_,
                          [&](BlockId block) { settle(owners_.vm_of(block), block); });
  return absl::OkStatus();
}

absl::Status TieredHost::set_admission(const std::vector<bool>& admits) {
  return gate_.set(admits);
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

absl::Status TieredHost::attach(HostMeters& meters) {
  if (!std::ranges::all_of(tiers_, &Tier::empty)) {
    return absl::FailedPreconditionError("host meter: the host has blocks already");
  }
  meters_ = &meters;
  if (!any_slots_) share_table(meters);
  if (batches_) batches_->attach(meters);
  if (copies_) copies_->attach(meters);
  return absl::OkStatus();
}

// For meters of tiers that have an order, before the block is used.
void TieredHost::look(std::size_t k, const Request& request, BlockId block) {
  if (!any_slots_) tiers_[k].logs().look(request.part, block);
}

// What meters need of a block comes to lie beside what tiers know of it.
void TieredHost::share_table(HostMeters& meters) {
  const std::size_t tiers = tiers_.size();
  const std::span<CacheMeters> caches = meters.caches();
  if (!meters.by_tier()) {
    if (!caches[0].has_tails()) return;
    table_->widen(tiers + CacheMeters::kColumns);
    for (std::size_t k = 0; k < tiers; ++k) tiers_[k].keep_in(TableColumn(table_, k));
    return caches[0].keep_in(table_, tiers);
  }
  std::vector<std::size_t> parts = part_of_;
  std::ranges::sort(parts);
  const bool alone = std::ranges::adjacent_find(parts) == parts.end();
  const bool have_room = std::ranges::all_of(
      tiers_, [&](Tier& tier) { return tier.logs().takes_marks(caches[0].marks()); });
  if (!alone || !have_room) return;
  table_->widen(tiers * CacheMeters::kColumns);
  for (std::size_t k = 0; k < tiers; ++k) {
    caches[k].take_order(tiers_[k].logs(), table_, k * CacheMeters::kColumns);
  }
  meters.take_orders(*this);
}

void TieredHost::count() {
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    for (std::size_t vm = 0; vm < counters_.size(); ++vm) {
      CacheMeters::Vm& of = meters_->caches()[k].of(VmId(vm));
      of.reading.touched = tiers_[k].logs().used(part(VmId(vm)));
    }
  }
}

void TieredHost::begin_window() {
  for (Tier& tier : tiers_) tier.logs().begin_window();
}

void TieredHost::release(VmId vm) {
  for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) drop(vm, id);
}

// From below, so that the newest copy is not written into those that go with it.
void TieredHost::drop(VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  drop_staged(block);
  if (meters_ != nullptr && holds_any(vm, block)) meters_->left(vm, block);
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    if (!invalidate(k, owner, block)) continue;
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
    leave_in_turn<Nothing>(k, victims, 1);
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
      of.tiers[k].target = tiers_[k].target(part(VmId(vm)));
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
    const VmId vm = owners_.vm_of(block);
    unsigned where = 0;
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      const bool holds = tiers_[k].holds(part(vm), block);
      where |= static_cast<unsigned>(holds) << k;
      held[k * counters_.size() + vm] += holds ? 1 : 0;
      if (!one_copy() && book_.dirty(block, k) && !holds) {
        return internal_error("block {} is dirty in tier {}, which does not hold it", block, k);
      }
      if (holds && book_.dirty(block, k) && book_.mode(vm, k) != WriteMode::kBack) {
        return internal_error("block {} is dirty in tier {}, which does not write back", block, k);
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
