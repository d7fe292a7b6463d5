#include "core/engine/hosts/tiered_host.hpp"

#include <algorithm>
#include <bit>

namespace mcsim {

namespace {

// Return the fastest of `tiers`, a bit each; `below` if there are none.
std::size_t fastest_of(unsigned tiers, std::size_t below) {
  return tiers == 0 ? below : static_cast<std::size_t>(std::countr_zero(tiers));
}

}  // namespace

// Write around the tier: drop or update its copy. Return false if it has none.
bool TieredHost::write_past(std::size_t k, const Request& request, const Access<>& a) {
  if (!dirty_.rules().update_around) return invalidate(k, request, a.block);
  if (!tiers_[k].touch(request.part, a)) return false;
  ++request.tiers[k].updates;
  return true;
}

// Write from the fastest tier down, as the header documents for modes by tier. A VM with one mode
// has it in every tier.
TieredHost::Outcome TieredHost::write(const Request& request, const Access<>& a) {
  const VmId vm = request.vm;
  if (staged_ns_ && dirty_.effective_mode(vm) == EffectiveWriteMode::kAround &&
      !dirty_.rules().update_around) {
    drop_staged(a.block);
  }
  const bool was_held = observers_.probe != nullptr && holds_any(vm, a.block);
  const Route route = route_of(request, a);
  if (route.end == backend()) {
    ++counters_[vm].backend_writes;
    if (observers_.log != nullptr) observers_.log->push(Op::kWrite, a.block);
  } else {
    // All copies are outdated now, also those that victims of this write demote: the newest data is
    // above them.
    dirty_.mark(vm, a.block);
  }
  bring_in_on_route(request, a, route);
  const std::size_t served_by =
      route.end == backend() ? backend() : write_at_end(request, a, route);
  update_above_end(request, a, route);
  if (observers_.probe != nullptr) report_write(request, a.block, was_held, route.held < backend());
  if (refuses_) leave_refused(*request.context);  // a block must be in a tier to be written back
  while (dirty_.too_many()) write_back(dirty_.oldest());
  return {.found = route.held, .served_by = served_by};
}

// Insert the block into all tiers of the route but its end. The end comes last, because victims may
// evict the block from slower tiers.
void TieredHost::bring_in_on_route(const Request& request, const Access<>& a, const Route& route) {
  for (std::size_t k = route.end; k-- > 0;) {
    if (route.enters_tier(k)) bring_in(k, request, a, route);
  }
  for (std::size_t k = tiers_.size(); k-- > route.end + 1;) {
    if (route.enters_tier(k)) bring_in(k, request, a, route);
  }
}

// Update the copies above the end, also those that victims just demoted.
void TieredHost::update_above_end(const Request& request, const Access<>& a, const Route& route) {
  if (one_copy() && route.enters != 0) return;
  for (std::size_t k = 0; k < route.end; ++k) {
    if (dirty_.mode(request.vm, k) == WriteMode::kAround) {
      write_past(k, request, a);
    } else if (!route.enters_tier(k) && holds(k, request.vm, a.block)) {
      ++request.tiers[k].updates;
    }
  }
}

// Report a finished write to the probe: a hit, an insertion, or the removal of the block.
void TieredHost::report_write(const Request& request, BlockId block, bool was_held, bool hit) {
  const bool is_held = holds_any(request.vm, block);
  if (was_held && !is_held) return observers_.probe->removed(request.vm, block);
  if (hit) return observers_.probe->hit(request.vm, block);
  if (was_held || !is_held) return;
  observers_.probe->inserted(request.vm, block);
  observers_.probe->end_insertion(request.vm);
}

// Write to the tier where the write ends; return the tier that the VM waits for. The slowest tier
// that the block entered has the dirty copy.
std::size_t TieredHost::write_at_end(const Request& request, const Access<>& a,
                                     const Route& route) {
  const std::size_t end = route.end;
  if (end > 0) dirty_.move(a.block, 0, end);
  const std::size_t served_by = write_into_end(request, a, route);
  std::size_t low = end;
  for (std::size_t k = end + 1; k < tiers_.size(); ++k) {
    if (route.enters_tier(k) && holds(k, request.vm, a.block)) low = k;
  }
  if (low > end && dirty_.contains(a.block, end)) dirty_.move(a.block, end, low);
  return served_by;
}

// Return a slower tier, or the backend, if victims of this write took the space at the end.
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
  while (now < backend() && !dirty_.contains(a.block, now)) ++now;
  return now;
}

// Choose the tiers of a write, from the fastest on.
TieredHost::Route TieredHost::route_of(const Request& request, const Access<>& a) {
  Route route{.held = backend(), .found = backend(), .end = backend()};
  const bool blocked = is_blocked(request.vm, a.block);
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (dirty_.mode(request.vm, k) != WriteMode::kAround) {
      blocked ? tiers_[k].record(a) : look_in(k, request, a, route);
    } else if (holds(k, request.vm, a.block)) {
      // The write drops this copy if it is above the end. Below the end the copy is outdated, and
      // the block must not enter a slower tier.
      const bool ended = route.end < backend();
      if (ended || dirty_.rules().update_around) route.held = std::min(route.held, k);
      if (ended) route.found = std::min(route.found, k);
    }
  }
  if (chain_ == Chain::kInclusive) keep_inclusive(route);
  return route;
}

// Decide whether the block enters the tier, and whether the write ends there.
void TieredHost::look_in(std::size_t k, const Request& request, const Access<>& a, Route& route) {
  const bool found = route.found < backend();
  const bool ended = route.end < backend();
  const bool back = dirty_.mode(request.vm, k) == WriteMode::kBack;
  if (found && (ended || !back)) return;
  tiers_[k].record(a);
  const bool moves = one_copy() && route.enters != 0;
  const bool has = found   ? holds(k, request.vm, a.block)
                   : moves ? move_up_from(k, request, a.block)
                           : touch(k, request, a);
  if (has && !found) {
    route.found = k;
    route.held = std::min(route.held, k);
  }
  // A write does not reach tiers below its end that write through. In chains that demote clean
  // victims, the block enters only one tier: the end.
  const bool may_enter =
      !has && (back || !ended) && !(demotes() && route.enters != 0 && (ended || !back));
  const bool enters = may_enter && admits(k, request, a);
  route.enters |= static_cast<unsigned>(enters) << k;
  if (back && !ended && (has || enters)) route.end = k;
}

// A tier that rejects the block also keeps it out of the tiers above. Then the write ends below
// that tier, where every tier writes back.
void TieredHost::keep_inclusive(Route& route) {
  route.enters = without_gaps(route.enters, route.found);
  route.end = std::max(route.end, fastest_of(route.enters, route.found));
}

// Insert the block; return false if victims of this write took the space in the tier.
bool TieredHost::bring_in(std::size_t to, const Request& request, const Access<>& a,
                          const Route& route) {
  if (!tiers_[to].has_room(request.part)) return false;
  TierCounters& counts = request.tiers[to];
  ++(route.found < backend() && route.found > to ? counts.promotions : counts.fills);
  insert(to, request, a);
  return true;
}

// Write a dirty victim to slower tiers by their modes; return false if none of them holds it
// afterwards.
bool TieredHost::write_on(std::size_t from, std::size_t source, VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  ++owner.tiers[source].copied_out;
  return pass_on(from, owner, block);
}

bool TieredHost::pass_on(std::size_t from, const Request& owner, BlockId block) {
  Access<> a{.block = block, .op = Op::kWrite};
  if (needs_next_use()) a.next_use = next_use(from, block);
  bool taken = false;
  for (std::size_t k = from + 1; k < tiers_.size(); ++k) {
    const WriteMode mode = dirty_.mode(owner.vm, k);
    if (mode == WriteMode::kAround) {
      write_past(k, owner, a);
      continue;
    }
    const bool back = mode == WriteMode::kBack;
    const bool has_copy = !one_copy() && tiers_[k].touch(owner.part, a);
    if (!has_copy && ((taken && !back) || !admits(k, owner, a))) continue;
    if (back) dirty_.move(block, from, k);
    if (has_copy) {
      ++owner.tiers[k].updates;
    } else {
      put_below(k, owner, a);
    }
    if (back) return true;
    taken = true;
  }
  dirty_.write_back(owner.vm, block);
  return taken;
}

// Move dirty data from tiers that do not write back to slower tiers that do, or to the backend.
void TieredHost::settle(VmId vm, BlockId block) {
  const Request owner = request_of(vm);
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    if (!dirty_.contains(block, k) || dirty_.mode(vm, k) == WriteMode::kBack) continue;
    if (dirty_.dirty_above(block, k)) {
      dirty_.outdate(block, k);
      continue;
    }
    Access<> a{.block = block, .op = Op::kWrite};
    if (needs_next_use()) a.next_use = next_use(k, block);
    const auto takes = [&](std::size_t to) {
      return dirty_.mode(vm, to) == WriteMode::kBack &&
             (holds(to, vm, block) || admits(to, owner, a));
    };
    std::size_t to = k + 1;
    while (to < tiers_.size() && !takes(to)) ++to;
    if (to == backend()) return write_back(k, k, owner, block);
    ++owner.tiers[k].copied_out;
    for (std::size_t between = k + 1; between <= to; ++between) {
      if (between < to) dirty_.outdate(block, between);
      if (holds(between, vm, block)) ++owner.tiers[between].updates;
    }
    dirty_.move(block, k, to);
    if (holds(to, vm, block)) continue;
    put_below(to, owner, a);
  }
}

// Update the copies in this tier and slower ones.
void TieredHost::update_from(std::size_t from, const Request& owner, BlockId block) {
  if (one_copy()) return;
  for (std::size_t k = from; k < backend(); ++k) {
    if (tiers_[k].holds(owner.part, block)) ++owner.tiers[k].updates;
  }
}

// Write the newest data, which `from` has or had, to the backend and to the copies below `from`.
// `source`: the tier from whose device the data is read.
void TieredHost::write_back(std::size_t source, std::size_t from, const Request& owner,
                            BlockId block) {
  ++owner.tiers[source].copied_out;
  update_from(from + 1, owner, block);
  dirty_.write_back(owner.vm, block);
}

// Write back a dirty block that a tier holds.
void TieredHost::write_back(BlockId block) {
  const VmId vm = owners_.vm_of(block);
  const std::size_t newest = newest_copy(vm, block);
  write_back(newest, newest, request_of(vm), block);
}

std::size_t TieredHost::newest_copy(VmId vm, BlockId block) const {
  if (one_copy()) return fastest_with(vm, block);
  std::size_t newest = 0;
  while (!dirty_.contains(block, newest)) ++newest;
  return newest;
}

void TieredHost::flush() {
  while (dirty_.count() > 0) write_back(dirty_.oldest());
}

absl::Status TieredHost::set_write_modes(std::span<const WriteMode> modes) {
  return dirty_.set_modes(modes, owners_, [&](BlockId block) { write_back(block); });
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
  dirty_.set_modes_by_tier(modes, owners_,
                           [&](BlockId block) { settle(owners_.vm_of(block), block); });
  leave_refused(kNoRequest);
  return absl::OkStatus();
}

}  // namespace mcsim
