#include "core/engine/hosts/request_context.hpp"
#include "core/engine/hosts/request_counts.hpp"
#include "core/engine/hosts/tiered_host.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace mcsim {
namespace {

// Return the sum of two lengths of time, at most the longest there is.
Nanoseconds saturating_sum(Nanoseconds a, Nanoseconds b) {
  constexpr Nanoseconds kLongest = std::numeric_limits<Nanoseconds>::max();
  return a > kLongest - b ? kLongest : a + b;
}

}  // namespace

// Finds the VMs of later accesses; calls must be in the order of accesses.
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

// Prefetch the state for the accesses after this one.
void TieredHost::look_ahead(std::span<const BlockId> ids, std::size_t i, LookAhead& near) const {
  if (i + kIndexAhead >= ids.size()) return;
  const BlockId far = ids[i + kIndexAhead];
  if (dirty_.count() > 0) dirty_.prefetch(far);
  if (observers_.probe != nullptr) observers_.probe->prefetch(far);
  table_->prefetch(far);
  if (!any_slots_) return;
  const BlockId soon = ids[i + kSlotAhead];
  const std::size_t own = part(near.vm_of(i + kSlotAhead));
  for (std::size_t k = 0; k < backend(); ++k) {
    if (has_slot(soon, k)) tiers_[k].prefetch_slot(own, soon);
  }
}

// Return an access, the position-th of its request, and note the next use of its block.
Access<> TieredHost::access_of(const RequestContext& context, std::size_t position, BlockId block,
                               std::size_t i) {
  Access<> a{.block = block,
             .op = context.op,
             .position = static_cast<std::uint32_t>(position),
             .request = &context};
  if (!needs_next_use()) return a;
  a.next_use = next_uses_[i];
  for (std::size_t k = 0; k < backend(); ++k) next_use(k, block) = a.next_use;
  return a;
}

void TieredHost::walk(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  LookAhead near(trace, range.begin);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::size_t begin = trace.request_begin[r];
    const std::size_t end = trace.request_begin[r + 1];
    if (begin == end) continue;
    const RequestContext context = context_of(trace, r, reads_addresses_);
    const Request request = request_of(context.vm, context);
    const Op op = context.op;
    std::array<Count, kMaxTiers + 1>& found = found_[request.vm][trace.request_op[r]];
    Served& served = counters_[request.vm].served(op);
    std::size_t slowest = 0;
    Count staged = 0;
    Delays delays;
    MissedBlocks missed;
    for (std::size_t i = begin; i < end; ++i) {
      look_ahead(ids, i, near);
      const Access<> a = access_of(context, i - begin, ids[i], i);
      const Outcome outcome = op == Op::kRead ? fetch(request, a) : write(request, a);
      if (refuses_) leave_refused(context);
      if (reported_ != nullptr) reported_->push_back(outcome.found);
      const bool delayed = fetches_ && is_delayed(request, ids[i], outcome, delays);
      missed.note(i == begin, delayed || (!outcome.staged && outcome.found == backend()));
      if (delayed) continue;
      if (outcome.staged) {
        ++staged;
        continue;
      }
      ++found[outcome.found];
      ++served.blocks[outcome.served_by];
      slowest = std::max(slowest, outcome.served_by);
    }
    count_request(trace, r, missed, counters_[request.vm]);
    if (staged + delays.hits == 0) {
      ++served.requests[slowest];
    } else {
      count_waits(request, slowest, staged, delays);
    }
  }
}

// Return whether the access is a delayed hit; add its wait.
bool TieredHost::is_delayed(const Request& request, BlockId block, const Outcome& outcome,
                            Delays& delays) {
  const Nanoseconds rest = join_fetch(request, block, outcome);
  if (rest == 0) return false;
  ++delays.hits;
  delays.ns = saturating_sum(delays.ns, rest);
  delays.longest = std::max(delays.longest, rest);
  return true;
}

// Return how long a read waits for the data that an earlier read fetches; 0 if it need not wait.
// Such a read begins a fetch if it brought the block into a tier with delayed hits. A write ends
// the fetch, since the block is written whole.
Nanoseconds TieredHost::join_fetch(const Request& request, BlockId block, const Outcome& outcome) {
  const Nanoseconds now = request.context->time;
  if (request.context->op == Op::kRead && outcome.found < backend()) {
    const Nanoseconds rest = fetches_->rest(outcome.found, block, now);
    if (rest > 0 || outcome.found == 0) return rest;
  }
  fetches_->end(block);
  if (request.context->op == Op::kWrite) return 0;
  const Nanoseconds takes =
      outcome.staged ? *staged_ns_ : fetches_->times().of(request.vm, outcome.found);
  for (std::size_t k = 0; k < outcome.found; ++k) {
    if (!fetches_->delays_hits(k) || !holds(k, request.vm, block)) continue;
    fetches_->begin(block, outcome.found, now, takes);
    break;
  }
  return 0;
}

// Count a request with blocks that no device served: it waits for the slowest of its blocks.
void TieredHost::count_waits(const Request& request, std::size_t slowest, Count staged,
                             const Delays& delays) {
  VmCounters& counts = counters_[request.vm];
  counts.staged_hits += staged;
  counts.delayed_hits += delays.hits;
  counts.delayed_ns = saturating_sum(counts.delayed_ns, delays.ns);
  const bool is_served = staged + delays.hits < request.context->blocks;
  if (delays.hits > 0) {
    const Nanoseconds in_memory = staged > 0 ? *staged_ns_ : 0;
    const Nanoseconds on_device = is_served ? fetches_->times().of(request.vm, slowest) : 0;
    if (delays.longest > std::max(in_memory, on_device)) {
      ++counts.delayed_requests;
      counts.request_delay_ns = saturating_sum(counts.request_delay_ns, delays.longest);
      return;
    }
  }
  ++(is_served ? counts.served(request.context->op).requests[slowest] : counts.staged_requests);
}

// Drop the tier's copy, which is not a victim; return false if it has none.
bool TieredHost::invalidate(std::size_t k, const Request& owner, BlockId block) {
  if (!tiers_[k].take(owner.part, block)) return false;
  count_invalidation(k, owner);
  return true;
}

void TieredHost::count_invalidation(std::size_t k, const Request& owner) {
  ++owner.tiers[k].invalidations;
  --owner.tiers[k].occupancy;
}

// Serve a read: find the block, from the fastest tier on, and insert it into the tiers above.
TieredHost::Outcome TieredHost::fetch(const Request& request, const Access<>& a) {
  const bool blocked = is_blocked(request.vm, a.block);
  const bool in_memory = staged(a.block);
  unsigned admitted = 0;  // by tier, a bit each
  std::size_t found = 0;
  for (; found < backend(); ++found) {
    tiers_[found].record(a);
    if (blocked) continue;
    const bool moves = one_copy() && admitted != 0;
    if (moves ? move_up_from(found, request, a.block) : touch(found, request, a)) break;
    if (demotes() && admitted != 0) continue;
    const bool lets_in = admits(found, request, a);
    admitted |= static_cast<unsigned>(lets_in) << found;
  }
  if (chain_ == Chain::kInclusive) admitted = without_gaps(admitted, found);
  if (observers_.probe != nullptr && found < backend()) observers_.probe->hit(request.vm, a.block);
  if (observers_.log != nullptr && found == backend() && !in_memory)
    observers_.log->push(Op::kRead, a.block);
  if (found > 0 && admitted != 0) enter(request, a, found, admitted);
  return {.found = found, .served_by = found, .staged = in_memory && found == backend()};
}

bool TieredHost::prefetch(std::size_t to, const RequestContext& context, BlockId block) {
  if (admission_.is_blocked(context.vm) || staged(block) || holds_any(context.vm, block)) {
    return false;
  }
  const Request request = request_of(context.vm, context);
  const Access<> a{.block = block, .request = &context};
  unsigned admitted = 0;
  const std::size_t end = chain_ == Chain::kInclusive ? backend() : to + 1;
  for (std::size_t k = to; k < end; ++k) {
    admitted |= static_cast<unsigned>(admits(k, request, a)) << k;
  }
  if (chain_ == Chain::kInclusive) admitted = without_gaps(admitted, backend());
  const bool enters = (admitted >> to & 1) != 0;
  if (enters) enter(request, a, backend(), admitted);
  if (refuses_) leave_refused(context);
  return enters;
}

bool TieredHost::touch(std::size_t k, const Request& request, const Access<>& a) {
  return has_slot(a.block, k) && tiers_[k].touch(request.part, a);
}

// Remove the only copy for a move to a faster tier; return false if the tier has none.
bool TieredHost::move_up_from(std::size_t k, const Request& request, BlockId block) {
  if (!has_slot(block, k) || !tiers_[k].take(request.part, block)) return false;
  ++request.tiers[k].moved_up;
  --request.tiers[k].occupancy;
  return true;
}

// Insert the block, which `found` had, into the tiers above that admit it, the slowest first. In
// chains that demote clean victims, only one tier admits it.
void TieredHost::enter(const Request& request, const Access<>& a, std::size_t found,
                       unsigned admitted) {
  for (std::size_t k = found; k-- > 0;) {
    if ((admitted >> k & 1) == 0) continue;
    TierCounters& counts = request.tiers[k];
    ++(found == backend() ? counts.fills : counts.promotions);
    insert(k, request, a);
  }
  if (observers_.probe == nullptr || found < backend()) return;
  observers_.probe->inserted(request.vm, a.block);
  observers_.probe->end_insertion(request.vm);
}

void TieredHost::insert(std::size_t to, const Request& request, const Access<>& a) {
  assert(!tiers_[to].holds(request.part, a.block) && victims_[to].empty());
  ++request.tiers[to].occupancy;
  std::vector<BlockId>& victims = victims_[to];
  tiers_[to].insert(request.part, a, victims);
  leave_in_turn(to, victims, *request.context);
  victims.clear();
}

// Move the blocks that policies evicted in admits().
void TieredHost::leave_refused(const RequestContext& context) {
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    while (tiers_[k].has_refused_victims()) {
      std::vector<BlockId> victims;
      tiers_[k].take_refused_victims(victims);
      leave_in_turn(k, victims, context);
    }
  }
}

// Move victims one by one. For the probe, a victim that has not moved yet is still held.
void TieredHost::leave_in_turn(std::size_t from, std::span<const BlockId> victims,
                               const RequestContext& context) {
  const bool counted = observers_.probe != nullptr && !one_copy() && victims.size() > 1;
  if (counted) to_leave_.insert(victims.begin(), victims.end());
  for (const BlockId victim : victims) {
    if (counted) to_leave_.erase(to_leave_.find(victim));
    leave(from, victim, context);
  }
}

// Demote a victim of the tier to a slower one, or evict it.
void TieredHost::leave(std::size_t from, BlockId block, const RequestContext& context) {
  const Request owner = request_of(owners_.vm_of(block), context);
  TierCounters& left = owner.tiers[from];
  assert(left.occupancy > 0);
  --left.occupancy;
  // Policies other than LRU prefetch their next victims themselves.
  if (!any_slots_) look_ahead_of_victims(tiers_[from].peek_victim(owner.part));
  // The tier from whose device the newest data is read.
  const std::size_t source = chain_ == Chain::kInclusive ? drop_above(from, owner, block) : from;
  bool newest = dirty_.count() > 0 && dirty_.contains(block, from);
  if (newest && dirty_.dirty_above(block, from)) {
    dirty_.outdate(block, from);
    newest = false;
  }
  if (newest ? write_on(from, source, owner.vm, block)
             : demotes() && push_down(from, source, owner, block)) {
    ++left.moved_down;
    return;
  }
  ++left.evictions;
  if (observers_.probe != nullptr && (one_copy() || in_no_tier(owner.vm, block))) {
    observers_.probe->removed(owner.vm, block);
  }
}

bool TieredHost::in_no_tier(VmId vm, BlockId block) const {
  return !holds_any(vm, block) && !to_leave_.contains(block);
}

void TieredHost::look_ahead_of_victims(BlockId soon) const {
  if (dirty_.count() > 0) dirty_.prefetch(soon);
  if (observers_.probe != nullptr) observers_.probe->prefetch(soon);
}

// Demote a clean victim to the first slower tier that has the block or admits it; return false if
// there is none. Only an admitted block is copied.
bool TieredHost::push_down(std::size_t from, std::size_t source, const Request& owner,
                           BlockId block) {
  Access<> a{.block = block, .request = owner.context};
  if (needs_next_use()) a.next_use = next_use(from, block);
  for (std::size_t k = from + 1; k < backend(); ++k) {
    if (!one_copy() && tiers_[k].touch(owner.part, a)) return true;
    if (!admits(k, owner, a)) continue;
    ++owner.tiers[source].copied_out;
    put_below(k, owner, a);
    return true;
  }
  return false;
}

// Insert a block that came from a faster tier.
void TieredHost::put_below(std::size_t to, const Request& owner, const Access<>& a) {
  ++owner.tiers[to].demotions;
  if (needs_next_use()) next_use(to, a.block) = a.next_use;
  insert(to, owner, a);
}

// Drop the copies above a victim. Return the tier that had the newest data; instead of that copy,
// the victim is dirty.
std::size_t TieredHost::drop_above(std::size_t below, const Request& owner, BlockId block) {
  std::size_t source = below;
  for (std::size_t k = below; k-- > 0;) {
    if (!invalidate(k, owner, block) || !dirty_.contains(block, k)) continue;
    dirty_.move(block, k, below);
    source = k;
  }
  return source;
}

}  // namespace mcsim
