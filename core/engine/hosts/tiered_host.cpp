#include "core/engine/hosts/tiered_host.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/policy/next_use.hpp"

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
  if (!host->one_copy() && host->tiers_.size() >= CopyChain::kLeastTiers &&
      host->tiers_.size() <= CopyChain::kMostTiers &&
      std::ranges::all_of(host->tiers_, &Tier::only_logs)) {
    host->copies_.emplace(host->chain_, host->tiers_, *host->table_, host->part_of_, host->owners_,
                          host->gate_, host->book_, static_cast<CopyChain::SlowPath&>(*host));
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
  const bool singly = gate_.any_shut() || (book_.limited() && book_.any(WriteMode::kBack)) ||
                      (book_.rules().update_around && book_.any(WriteMode::kAround)) ||
                      (book_.flushes() && range.end - range.begin < kWorthABatch);
  if (batches_ && !singly) {
    batches_->replay(trace, range, counters_, found_);
  } else if (copies_) {
    copies_->replay(trace, range, counters_, found_);
  } else {
    walk(trace, range);
  }
}

void TieredHost::serve_singly(const Accesses& trace, std::size_t request) {
  walk(trace, {request, request + 1});
}

// Towards the accesses after this one.
void TieredHost::look_ahead(std::span<const BlockId> ids, std::size_t i, LookAhead& near) const {
  if (i + kIndexAhead >= ids.size()) return;
  const BlockId far = ids[i + kIndexAhead];
  if (book_.dirty() > 0) book_.prefetch(far);
  if (probe_ != nullptr) probe_->prefetch(far);
  table_->prefetch(far);
  if (!any_slots_) return;
  const BlockId soon = ids[i + kSlotAhead];
  const std::size_t own = part(near.vm_of(i + kSlotAhead));
  for (std::size_t k = 0; k < backend(); ++k) {
    if (has_slot(soon, k)) tiers_[k].prefetch_slot(own, soon);
  }
}

void TieredHost::walk(const Accesses& trace, RequestRange range) {
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
      if (knows_future()) {
        a.next_use = next_uses_[i];
        for (std::size_t k = 0; k < backend(); ++k) next_use(k, a.block) = a.next_use;
      }
      const Outcome outcome = op == Op::kRead ? fetch(request, a) : write(request, a);
      if (outcome.staged) {
        ++staged;
        continue;
      }
      ++found[outcome.found];
      ++served.blocks[outcome.served_by];
      slowest = std::max(slowest, outcome.served_by);
    }
    if (staged == 0) {
      ++served.requests[slowest];
      continue;
    }
    VmCounters& counts = counters_[request.vm];
    counts.staged_hits += staged;
    ++(staged == request.blocks ? counts.staged_requests : served.requests[slowest]);
  }
}

// Writes around the tier: a copy there leaves, or is updated. False if it has none.
bool TieredHost::write_past(std::size_t k, const Request& request, const Access<>& a) {
  if (!book_.rules().update_around) return invalidate(k, request, a.block);
  if (!tiers_[k].touch(request.part, a)) return false;
  ++request.tiers[k].updates;
  return true;
}

// The tier's copy leaves without being a victim; false if it has none.
bool TieredHost::invalidate(std::size_t k, const Request& owner, BlockId block) {
  if (!tiers_[k].take(owner.part, block)) return false;
  TierCounters& left = owner.tiers[k];
  ++left.invalidations;
  --left.occupancy;
  return true;
}

// Writes from the fastest tier down, as the header documents for modes by tier. A VM with one mode
// has it in every tier.
TieredHost::Outcome TieredHost::write(const Request& request, const Access<>& a) {
  const VmId vm = request.vm;
  if (staged_ns_ && book_.way(vm) == WriteBook::Way::kAround && !book_.rules().update_around) {
    drop_staged(a.block);
  }
  const bool was_held = probe_ != nullptr && holds_any(vm, a.block);
  const Route route = route_of(request, a);
  if (route.end == backend()) {
    ++counters_[vm].backend_writes;
  } else {
    // From now on all copies are old, also those that victims of this write push down. The newest
    // is above them.
    book_.mark(vm, a.block);
  }
  bring_in_on_route(request, a, route);
  const std::size_t served_by =
      route.end == backend() ? backend() : write_at_end(request, a, route);
  update_above_end(request, a, route);
  if (probe_ != nullptr) report_write(request, a.block, was_held, route.held < backend());
  while (book_.too_many()) write_back(book_.oldest());
  return {.found = route.held, .served_by = served_by};
}

// Brings the block into the tiers of the route but its end, which comes last: victims may push the
// block out of slower tiers.
void TieredHost::bring_in_on_route(const Request& request, const Access<>& a, const Route& route) {
  for (std::size_t k = route.end; k-- > 0;) {
    if (route.enters_tier(k)) bring_in(k, request, a, route);
  }
  for (std::size_t k = tiers_.size(); k-- > route.end + 1;) {
    if (route.enters_tier(k)) bring_in(k, request, a, route);
  }
}

// Updates copies that were there, and those that victims pushed further down just now.
void TieredHost::update_above_end(const Request& request, const Access<>& a, const Route& route) {
  if (one_copy() && route.enters != 0) return;
  for (std::size_t k = 0; k < route.end; ++k) {
    if (book_.mode(request.vm, k) == WriteMode::kAround) {
      write_past(k, request, a);
    } else if (!route.enters_tier(k) && holds(k, request.vm, a.block)) {
      ++request.tiers[k].updates;
    }
  }
}

// Reports a write to the probe, after it: a hit, an insertion, or that the block was dropped.
void TieredHost::report_write(const Request& request, BlockId block, bool was_held, bool hit) {
  const bool is_held = holds_any(request.vm, block);
  if (was_held && !is_held) return probe_->removed(request.vm, block);
  if (hit) return probe_->hit(request.vm, block);
  if (was_held || !is_held) return;
  probe_->inserted(request.vm, block);
  probe_->end_insertion(request.vm);
}

// Writes to the tier where the write ends; returns the tier that the VM waits for. The slowest tier
// that the write came into has the dirty copy.
std::size_t TieredHost::write_at_end(const Request& request, const Access<>& a,
                                     const Route& route) {
  const std::size_t end = route.end;
  if (end > 0) book_.move(a.block, 0, end);
  const std::size_t served_by = write_into_end(request, a, route);
  std::size_t low = end;
  for (std::size_t k = end + 1; k < tiers_.size(); ++k) {
    if (route.enters_tier(k) && holds(k, request.vm, a.block)) low = k;
  }
  if (low > end && book_.dirty(a.block, end)) book_.move(a.block, end, low);
  return served_by;
}

// If other blocks took the room in the tier, the data goes on to slower tiers, or to the backend.
std::size_t TieredHost::write_into_end(const Request& request, const Access<>& a,
                                       const Route& route) {
  const std::size_t end = route.end;
  if (holds(end, request.vm, a.block)) {
    if (end != route.found) tiers_[end].touch(request.part, a);
    ++request.tiers[end].updates;
    return end;
  }
  if (bring_in(end, request, a, route)) return end;
  pass_on(end, request, a.block);
  std::size_t now = end + 1;
  while (now < backend() && !book_.dirty(a.block, now)) ++now;
  return now;
}

// From the fastest tier on.
TieredHost::Route TieredHost::route_of(const Request& request, const Access<>& a) {
  Route route{.held = backend(), .found = backend(), .end = backend()};
  const bool blocked = is_blocked(request.vm, a.block);
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (book_.mode(request.vm, k) != WriteMode::kAround) {
      blocked ? tiers_[k].record(a.block) : look_in(k, request, a, route);
    } else if (holds(k, request.vm, a.block)) {
      // Above the end the copy is dropped; below, it is old from now on, and new data must not come
      // in below it.
      const bool ended = route.end < backend();
      if (ended || book_.rules().update_around) route.held = std::min(route.held, k);
      if (ended) route.found = std::min(route.found, k);
    }
  }
  if (chain_ == Chain::kInclusive) keep_inclusive(route);
  return route;
}

// Whether the tier has the block, or is to, and whether the write ends there.
void TieredHost::look_in(std::size_t k, const Request& request, const Access<>& a, Route& route) {
  const bool found = route.found < backend();
  const bool ended = route.end < backend();
  const bool back = book_.mode(request.vm, k) == WriteMode::kBack;
  if (found && (ended || !back)) return;
  tiers_[k].record(a.block);
  const bool moves = one_copy() && route.enters != 0;
  const bool has = found   ? holds(k, request.vm, a.block)
                   : moves ? move_up_from(k, request, a.block)
                           : touch(k, request, a);
  if (has && !found) {
    route.found = k;
    route.held = std::min(route.held, k);
  }
  // Below where it ends those that write through are not reached. Victims make a chain in which a
  // block comes into one tier, and here into the one that it ends at.
  const bool may_enter =
      !has && (back || !ended) && !(demotes() && route.enters != 0 && (ended || !back));
  const bool enters = may_enter && admits(k, request, a.block);
  route.enters |= static_cast<unsigned>(enters) << k;
  if (back && !ended && (has || enters)) route.end = k;
}

// A tier that refuses the block keeps it from those above: then the write ends below it, where
// every tier that is left writes back.
void TieredHost::keep_inclusive(Route& route) {
  route.enters = without_gaps(route.enters, route.found);
  route.end = std::max(route.end, fastest_of(route.enters, route.found));
}

// False if other blocks took the room of the tier meanwhile.
bool TieredHost::bring_in(std::size_t to, const Request& request, const Access<>& a,
                          const Route& route) {
  if (!tiers_[to].has_room(request.part)) return false;
  TierCounters& counts = request.tiers[to];
  ++(route.found < backend() && route.found > to ? counts.promotions : counts.fills);
  insert(to, request, a);
  return true;
}

// Looks for the block from the fastest tier on, and brings it up as the chain has it.
TieredHost::Outcome TieredHost::fetch(const Request& request, const Access<>& a) {
  const bool blocked = is_blocked(request.vm, a.block);
  const bool in_memory = staged(a.block);
  unsigned admitted = 0;  // by tier, a bit each
  std::size_t found = 0;
  for (; found < backend(); ++found) {
    tiers_[found].record(a.block);
    if (blocked) continue;
    const bool moves = one_copy() && admitted != 0;
    if (moves ? move_up_from(found, request, a.block) : touch(found, request, a)) break;
    if (demotes() && admitted != 0) continue;
    const bool lets_in = admits(found, request, a.block);
    admitted |= static_cast<unsigned>(lets_in) << found;
  }
  if (chain_ == Chain::kInclusive) admitted = without_gaps(admitted, found);
  if (probe_ != nullptr && found < backend()) probe_->hit(request.vm, a.block);
  if (found > 0 && admitted != 0) enter(request, a, found, admitted);
  return {.found = found, .served_by = found, .staged = in_memory && found == backend()};
}

bool TieredHost::touch(std::size_t k, const Request& request, const Access<>& a) {
  return has_slot(a.block, k) && tiers_[k].touch(request.part, a);
}

// The only copy leaves for a faster tier; false if the tier has none.
bool TieredHost::move_up_from(std::size_t k, const Request& request, BlockId block) {
  if (!has_slot(block, k) || !tiers_[k].take(request.part, block)) return false;
  ++request.tiers[k].moved_up;
  --request.tiers[k].occupancy;
  return true;
}

// Brings a block that `found` had into the tiers above that admit it, the slowest first. Chains in
// which victims go down admit it to one.
void TieredHost::enter(const Request& request, const Access<>& a, std::size_t found,
                       unsigned admitted) {
  for (std::size_t k = found; k-- > 0;) {
    if ((admitted >> k & 1) == 0) continue;
    TierCounters& counts = request.tiers[k];
    ++(found == backend() ? counts.fills : counts.promotions);
    insert(k, request, a);
  }
  if (probe_ == nullptr || found < backend()) return;
  probe_->inserted(request.vm, a.block);
  probe_->end_insertion(request.vm);
}

void TieredHost::insert(std::size_t to, const Request& request, const Access<>& a) {
  ++request.tiers[to].occupancy;
  std::vector<BlockId>& victims = victims_[to];
  tiers_[to].insert(request.part, a, victims);
  leave_in_turn(to, victims, request.blocks);
  victims.clear();
}

// To the probe, victims that still have to go down are held.
void TieredHost::leave_in_turn(std::size_t from, std::span<const BlockId> victims,
                               Count request_blocks) {
  const bool counted = probe_ != nullptr && !one_copy() && victims.size() > 1;
  if (counted) to_leave_.insert(victims.begin(), victims.end());
  for (const BlockId victim : victims) {
    if (counted) to_leave_.erase(to_leave_.find(victim));
    leave(from, victim, request_blocks);
  }
}

// A victim of the tier goes to a slower one, or out.
void TieredHost::leave(std::size_t from, BlockId block, Count request_blocks) {
  const Request owner = request_of(owners_.vm_of(block), request_blocks);
  TierCounters& left = owner.tiers[from];
  --left.occupancy;
  // Policies that are not LRU prefetch their next victims themselves.
  if (!any_slots_) look_ahead_of_victims(tiers_[from].peek_victim(owner.part));
  // The tier whose device its newest data is read from.
  const std::size_t source = chain_ == Chain::kInclusive ? drop_above(from, owner, block) : from;
  bool newest = book_.dirty() > 0 && book_.dirty(block, from);
  if (newest && book_.dirty_above(block, from)) {
    book_.outdate(block, from);
    newest = false;
  }
  if (newest ? write_on(from, source, owner.vm, block)
             : demotes() && push_down(from, source, owner, block)) {
    ++left.moved_down;
    return;
  }
  ++left.evictions;
  if (probe_ != nullptr && (one_copy() || in_no_tier(owner.vm, block))) {
    probe_->removed(owner.vm, block);
  }
}

bool TieredHost::in_no_tier(VmId vm, BlockId block) const {
  return !holds_any(vm, block) && !to_leave_.contains(block);
}

void TieredHost::look_ahead_of_victims(BlockId soon) const {
  if (book_.dirty() > 0) book_.prefetch(soon);
  if (probe_ != nullptr) probe_->prefetch(soon);
}

// A clean victim goes to the first of the slower tiers that has the block or takes it; false if
// none does. A copy that is there already is not copied.
bool TieredHost::push_down(std::size_t from, std::size_t source, const Request& owner,
                           BlockId block) {
  Access<> a{.block = block};
  if (knows_future()) a.next_use = next_use(from, block);
  for (std::size_t k = from + 1; k < backend(); ++k) {
    if (!one_copy() && tiers_[k].touch(owner.part, a)) return true;
    if (!admits(k, owner, block)) continue;
    ++owner.tiers[source].copied_out;
    put_below(k, owner, a);
    return true;
  }
  return false;
}

// The new data of a victim goes on as the modes of its VM say; false if no slower tier has it then.
bool TieredHost::write_on(std::size_t from, std::size_t source, VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  ++owner.tiers[source].copied_out;
  return pass_on(from, owner, block);
}

bool TieredHost::pass_on(std::size_t from, const Request& owner, BlockId block) {
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
    const bool has_copy = !one_copy() && tiers_[k].touch(owner.part, a);
    if (!has_copy && ((taken && !back) || !admits(k, owner, block))) continue;
    if (back) book_.move(block, from, k);
    if (has_copy) {
      ++owner.tiers[k].updates;
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
  insert(to, owner, a);
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
             (holds(to, vm, block) || admits(to, owner, block));
    };
    std::size_t to = k + 1;
    while (to < tiers_.size() && !takes(to)) ++to;
    if (to == backend()) return write_back(k, k, owner, block);
    ++owner.tiers[k].copied_out;
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

// The copies above the one that leaves go, too. Returns the tier with the newest data, which counts
// as dirty in the tier below.
std::size_t TieredHost::drop_above(std::size_t below, const Request& owner, BlockId block) {
  std::size_t source = below;
  for (std::size_t k = below; k-- > 0;) {
    if (!invalidate(k, owner, block) || !book_.dirty(block, k)) continue;
    book_.move(block, k, below);
    source = k;
  }
  return source;
}

// Writes new data into the copies that this tier and slower ones have.
void TieredHost::update_from(std::size_t from, const Request& owner, BlockId block) {
  if (one_copy()) return;
  for (std::size_t k = from; k < backend(); ++k) {
    if (tiers_[k].holds(owner.part, block)) ++owner.tiers[k].updates;
  }
}

// The newest data, which `from` has or had, is read from the tier `source` and written to the
// backend and into the copies below.
void TieredHost::write_back(std::size_t source, std::size_t from, const Request& owner,
                            BlockId block) {
  ++owner.tiers[source].copied_out;
  update_from(from + 1, owner, block);
  book_.write_back(owner.vm, block);
}

// A dirty block that is held.
void TieredHost::write_back(BlockId block) {
  const VmId vm = owners_.vm_of(block);
  const std::size_t newest = newest_copy(vm, block);
  write_back(newest, newest, request_of(vm), block);
}

std::size_t TieredHost::newest_copy(VmId vm, BlockId block) const {
  if (one_copy()) return fastest_with(vm, block);
  std::size_t newest = 0;
  while (!book_.dirty(block, newest)) ++newest;
  return newest;
}

void TieredHost::flush() {
  while (book_.dirty() > 0) write_back(book_.oldest());
}

absl::Status TieredHost::set_write_modes(std::span<const WriteMode> modes) {
  return book_.set_modes(modes, owners_, [&](BlockId block) { write_back(block); });
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

absl::Status TieredHost::attach(CacheProbe& probe) {
  if (!std::ranges::all_of(tiers_, &Tier::empty)) {
    return absl::FailedPreconditionError("cache probe: the host holds blocks already");
  }
  probe_ = &probe;
  if (batches_) batches_->attach(probe);
  if (copies_) copies_->attach(probe);
  return absl::OkStatus();
}

void TieredHost::release(VmId vm) {
  for (BlockId id = owners_.first_of(vm); id < owners_.end_of(vm); ++id) drop(vm, id);
}

void TieredHost::drop(VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  drop_staged(block);
  const bool held = holds_any(vm, block);
  if (book_.dirty(block)) {
    // Copies below are dropped, not updated.
    ++owner.tiers[newest_copy(vm, block)].copied_out;
    book_.write_back(vm, block);
  }
  for (std::size_t k = 0; k < tiers_.size(); ++k) invalidate(k, owner, block);
  if (probe_ != nullptr && held) probe_->removed(vm, block);
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
    leave_in_turn(k, victims, 1);
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
