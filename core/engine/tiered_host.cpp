#include "core/engine/tiered_host.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/next_use.hpp"

namespace mcsim {
namespace {

// The VM of an access some way ahead; accesses are asked for in order.
class LookAhead {
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

// What each part of a tier gets: all that its VMs do.
absl::StatusOr<std::vector<Count>> by_part(std::span<const Count> targets,
                                           std::span<const std::size_t> part_of, std::size_t tier,
                                           Count capacity) {
  std::vector<Count> parts(*std::ranges::max_element(part_of) + 1, 0);
  Count granted = 0;
  for (std::size_t vm = 0; vm < targets.size(); ++vm) {
    if (targets[vm] < 0) {
      return invalid_argument("targets: tier {} grants {} blocks", tier, targets[vm]);
    }
    parts[part_of[vm]] += targets[vm];
    granted += targets[vm];
  }
  if (granted <= capacity) return parts;
  return invalid_argument("targets: tier {} grants {} blocks of {}", tier, granted, capacity);
}

}  // namespace

TieredHost::TieredHost(TieredSetup setup, const Accesses& trace)
    : chain_(setup.chain),
      tiers_(std::move(setup.tiers)),
      table_(std::move(setup.table)),
      part_of_(std::move(setup.part_of)),
      divided_(setup.divided),
      blocks_(trace.id_count()),
      line_blocks_(trace.line_blocks),
      writes_(std::move(setup.writes)),
      counters_(trace.vms.size()),
      tallies_(trace.vms.size()),
      next_flush_(trace.request_time.empty() ? 0 : trace.request_time[0] + writes_.flush_every) {
  for (const VmInfo& vm : trace.vms) first_id_.push_back(vm.first_id);
  for (VmCounters& vm : counters_) vm.tiers.resize(tiers_.size());
  for (std::size_t vm = 0; vm < part_of_.size(); ++vm) {
    if (part(vm) >= sole_vm_.size()) sole_vm_.resize(part(vm) + 1, kNobody);
    sole_vm_[part(vm)] = sole_vm_[part(vm)] == kNobody ? vm : kSeveral;
  }
  dealt_.resize(sole_vm_.size());
}

absl::StatusOr<std::unique_ptr<Host>> TieredHost::make(TieredSetup setup, const Accesses& trace) {
  if (setup.tiers.empty() || setup.tiers.size() > kMaxTiers) {
    return invalid_argument("tiers: expected 1 to {}, got {}", kMaxTiers, setup.tiers.size());
  }
  const std::vector<WriteMode> modes = setup.writes.modes;
  std::unique_ptr<TieredHost> host(new TieredHost(std::move(setup), trace));
  MCSIM_RETURN_IF_ERROR(host->set_write_modes(modes));
  if (std::ranges::any_of(host->tiers_, &Tier::needs_next_use)) {
    MCSIM_ASSIGN_OR_RETURN(host->next_uses_,
                           next_uses(trace.ids, trace.id_count(), trace.line_blocks));
    host->next_use_of_ = Pages<NextUse>(host->tiers_.size() * trace.id_count());
  }
  return host;
}

// Whether a block is in one tier, clean, and comes into the fastest that has room for it.
bool TieredHost::simple() const {
  return chain_ == Chain::kExclusive && !dirty_ && std::ranges::none_of(tiers_, &Tier::has_filter);
}

// Most hosts are plain: what only others need is left out of their loop.
bool TieredHost::plain() const { return simple() && !knows_future(); }

// Whether no tier needs to know what a slower one does.
bool TieredHost::one_way() const {
  return simple() && !(knows_future() && line_blocks_ > 1) && writes_.flush_every == 0 &&
         std::ranges::all_of(writes_.modes, [](WriteMode m) { return m == WriteMode::kThrough; }) &&
         std::ranges::all_of(tiers_, &Tier::independent_parts);
}

void TieredHost::replay(const Accesses& trace, RequestRange range) {
  if (one_way()) {
    replay_tier_by_tier(trace, range);
  } else if (plain()) {
    replay_as<true>(trace, range);
  } else {
    replay_as<false>(trace, range);
  }
}

template <bool kPlain>
void TieredHost::replay_as(const Accesses& trace, RequestRange range) {
  const std::span<const BlockId> ids(trace.ids);
  LookAhead near(trace, range.begin);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    if (writes_.flush_every > 0 && trace.request_time[r] >= next_flush_) {
      flush();
      while (next_flush_ <= trace.request_time[r]) next_flush_ += writes_.flush_every;
    }
    const std::size_t begin = trace.request_begin[r];
    const std::size_t end = trace.request_begin[r + 1];
    if (begin == end) continue;
    const Request request{.vm = trace.request_vm[r], .blocks = static_cast<Count>(end - begin)};
    const Op op = static_cast<Op>(trace.request_op[r]);
    std::array<Count, kMaxTiers + 1>& found = tallies_[request.vm].found[trace.request_op[r]];
    Served& served = counters_[request.vm].served(op);
    std::size_t slowest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kIndexAhead < ids.size()) {
        table_->prefetch(ids[i + kIndexAhead]);
        const std::size_t soon = part(near.vm_of(i + kSlotAhead));
        for (std::size_t k = 0; k < tiers_.size(); ++k) {
          if (has_slot(ids[i + kSlotAhead], k)) tiers_[k].prefetch_slot(soon, ids[i + kSlotAhead]);
        }
      }
      Access<> a{.block = ids[i], .op = op};
      if constexpr (!kPlain) {
        if (knows_future()) {
          a.next_use = next_uses_[i];
          for (std::size_t k = 0; k < tiers_.size(); ++k) next_use(k, a.block) = a.next_use;
        }
      }
      const Place place = op == Op::kRead ? fetch<kPlain>(request, a) : write(request, a);
      ++found[place.found];
      ++served.blocks[place.served_by];
      slowest = std::max(slowest, place.served_by);
    }
    ++served.requests[slowest];
  }
}

TieredHost::Place TieredHost::write(const Request& request, const Access<>& a) {
  switch (writes_.modes[request.vm]) {
    case WriteMode::kThrough:
      return write_through(request, a);
    case WriteMode::kBack:
      return write_to_cache(request, a);
    case WriteMode::kAround:
      return write_around(request, a);
  }
  __builtin_unreachable();
}

TieredHost::Place TieredHost::write_through(const Request& request, const Access<>& a) {
  Place place = fetch<false>(request, a);
  ++counters_[request.vm].backend_writes;
  place.served_by = backend();
  if (place.top == backend()) return place;
  // What came into a tier came with its new data.
  if (place.top == place.found) ++count(request.vm, place.top).updates;
  update_from(place.low + 1, request.vm, a.block);
  return place;
}

TieredHost::Place TieredHost::write_to_cache(const Request& request, const Access<>& a) {
  // From now on all copies are old, those too that are pushed down by what the block's
  // coming in sets off. The newest is above them, wherever that will be.
  const bool was_clean = dirty_->mark(a.block, 0);
  Place place = fetch<false>(request, a);
  place.served_by = place.top;
  if (place.top == backend()) {
    dirty_->clear(a.block);
    ++counters_[request.vm].backend_writes;
    return place;
  }
  if (place.top == place.found) ++count(request.vm, place.top).updates;
  if (place.low > 0) dirty_->move(a.block, 0, place.low);
  counters_[request.vm].dirtied += was_clean ? 1 : 0;
  counters_[request.vm].dirty += was_clean ? 1 : 0;
  while (dirty_->size() > writes_.most_dirty) write_back(dirty_->oldest());
  return place;
}

TieredHost::Place TieredHost::write_around(const Request& request, const Access<>& a) {
  std::size_t found = backend();
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    TierCounters& counts = count(request.vm, k);
    if (writes_.update_around) {
      if (!tiers_[k].touch(part(request.vm), a)) continue;
      ++counts.updates;
    } else {
      if (!tiers_[k].take(part(request.vm), a.block)) continue;
      ++counts.invalidations;
      --counts.occupancy;
    }
    found = k;
  }
  ++counters_[request.vm].backend_writes;
  return {found, backend(), backend(), backend()};
}

// Looks for the block from the fastest tier on, and brings it up as the chain has it.
template <bool kPlain>
TieredHost::Place TieredHost::fetch(const Request& request, const Access<>& a) {
  const std::size_t own = part(request.vm);
  unsigned admitted = 0;  // by tier, a bit each
  std::size_t found = 0;
  for (; found < tiers_.size(); ++found) {
    Tier& tier = tiers_[found];
    if constexpr (!kPlain) tier.record(a.block);
    const bool move = (kPlain || one_copy()) && admitted != 0;
    if (has_slot(a.block, found) && (move ? tier.take(own, a.block) : tier.touch(own, a))) break;
    if ((kPlain || demotes()) && admitted != 0) continue;
    const bool admits = kPlain ? tier.has_room(own) : tier.admits(own, a.block, request.blocks);
    admitted |= static_cast<unsigned>(admits) << found;
  }
  if (found == 0 || admitted == 0) return {found, found, found, found};
  if ((kPlain || one_copy()) && found < backend()) {
    TierCounters& left = count(request.vm, found);
    ++left.moved_up;
    --left.occupancy;
    const auto home = static_cast<std::size_t>(std::countr_zero(admitted));
    if (!kPlain && dirty(a.block, found)) dirty_->move(a.block, found, home);
  }
  return enter<kPlain>(request, a, found, admitted);
}

// Brings a block that `found` had into the tiers above that admit it: the fastest of
// them, or all. In an inclusive chain, one that does not keeps it from those above.
template <bool kPlain>
TieredHost::Place TieredHost::enter(const Request& request, const Access<>& a, std::size_t found,
                                    unsigned admitted) {
  Place place{found, found, found, found};
  if constexpr (kPlain) {
    const auto home = static_cast<std::size_t>(std::countr_zero(admitted));
    TierCounters& counts = count(request.vm, home);
    ++(found == backend() ? counts.fills : counts.promotions);
    insert<kPlain>(home, request, a);
    place.top = place.low = home;
    return place;
  }
  for (std::size_t k = found; k-- > 0;) {
    const bool wanted = (admitted >> k & 1) != 0;
    if (!wanted && chain_ == Chain::kInclusive) break;
    if (!wanted) continue;
    TierCounters& counts = count(request.vm, k);
    ++(found == backend() ? counts.fills : counts.promotions);
    insert<kPlain>(k, request, a);
    if (place.top == found) place.low = k;
    place.top = k;
  }
  // Victims of the faster tiers may have pushed it out of slower ones.
  while (place.low > place.top && !tiers_[place.low].holds(part(request.vm), a.block)) {
    --place.low;
  }
  return place;
}

template <bool kPlain>
void TieredHost::insert(std::size_t tier, const Request& request, const Access<>& a) {
  std::vector<BlockId>& victims = victims_[tier];
  ++count(request.vm, tier).occupancy;
  tiers_[tier].insert(part(request.vm), a, victims);
  for (const BlockId victim : victims) leave<kPlain>(tier, victim, request.blocks);
  victims.clear();
}

// A block was a victim of the tier: on to the next one, or out.
template <bool kPlain>
void TieredHost::leave(std::size_t tier, BlockId block, Count request_blocks) {
  const Request owner{.vm = vm_of(block), .blocks = request_blocks};
  TierCounters& left = count(owner.vm, tier);
  --left.occupancy;
  bool newest = false;
  if constexpr (!kPlain) {
    if (chain_ == Chain::kInclusive) drop_above(tier, owner.vm, block);
    newest = dirty(block, tier);
    if (newest && dirty_->above(block, tier)) {
      dirty_->clear(block, tier);
      newest = false;
    }
  }
  if ((kPlain || newest || demotes()) && push_down<kPlain>(tier, owner, block, newest)) {
    ++left.moved_down;
    return;
  }
  ++left.evictions;
  if (newest) write_back(block);
}

// To the first of the slower tiers that has the block or takes it; false if none does.
template <bool kPlain>
bool TieredHost::push_down(std::size_t tier, const Request& owner, BlockId block, bool dirty) {
  Access<> a{.block = block, .op = dirty ? Op::kWrite : Op::kRead};
  if (!kPlain && knows_future()) a.next_use = next_use(tier, block);
  for (std::size_t k = tier + 1; k < tiers_.size(); ++k) {
    const std::size_t own = part(owner.vm);
    const bool has_copy = !kPlain && !one_copy() && tiers_[k].touch(own, a);
    const bool admits =
        kPlain ? tiers_[k].has_room(own) : has_copy || tiers_[k].admits(own, block, owner.blocks);
    if (!admits) continue;
    if (dirty) dirty_->move(block, tier, k);
    if (has_copy) {
      count(owner.vm, k).updates += dirty ? 1 : 0;
    } else {
      ++count(owner.vm, k).demotions;
      if (!kPlain && knows_future()) next_use(k, block) = a.next_use;
      insert<kPlain>(k, owner, a);
    }
    return true;
  }
  return false;
}

// The copies above go with the one that leaves, and leave it what they have that is new.
void TieredHost::drop_above(std::size_t tier, std::size_t vm, BlockId block) {
  for (std::size_t k = 0; k < tier; ++k) {
    if (!tiers_[k].take(part(vm), block)) continue;
    ++count(vm, k).invalidations;
    --count(vm, k).occupancy;
    if (dirty(block, k)) dirty_->move(block, k, tier);
  }
}

// Writes new data into the copies that this tier and slower ones have.
void TieredHost::update_from(std::size_t tier, std::size_t vm, BlockId block) {
  if (one_copy()) return;
  for (std::size_t k = tier; k < tiers_.size(); ++k) {
    if (tiers_[k].holds(part(vm), block)) ++count(vm, k).updates;
  }
}

void TieredHost::write_back(BlockId block) {
  const std::size_t vm = vm_of(block);
  std::size_t newest = 0;
  while (!dirty_->contains(block, newest)) ++newest;
  update_from(newest + 1, vm, block);
  dirty_->clear(block);
  --counters_[vm].dirty;
  ++counters_[vm].write_backs;
  ++counters_[vm].backend_writes;
}

void TieredHost::flush() {
  while (dirty_ && dirty_->size() > 0) write_back(dirty_->oldest());
}

absl::Status TieredHost::set_write_modes(std::span<const WriteMode> modes) {
  if (modes.size() != counters_.size()) {
    return invalid_argument("write modes: {} of them for {} VMs", modes.size(), counters_.size());
  }
  for (std::size_t vm = 0; vm < modes.size(); ++vm) {
    if (modes[vm] == WriteMode::kBack) {
      if (!dirty_) dirty_ = std::make_unique<DirtyBlocks>(blocks_);
      continue;
    }
    for (BlockId id = first_id_[vm]; counters_[vm].dirty > 0 && id < end_of_ids(vm); ++id) {
      if (dirty_->contains(id)) write_back(id);
    }
  }
  writes_.modes.assign(modes.begin(), modes.end());
  return absl::OkStatus();
}

absl::Status TieredHost::failure() const {
  for (const Tier& tier : tiers_) MCSIM_RETURN_IF_ERROR(tier.failure());
  return absl::OkStatus();
}

void TieredHost::release(std::size_t vm) {
  for (BlockId id = first_id_[vm]; id < end_of_ids(vm); ++id) drop(vm, id);
}

// From below, so that the newest copy is not written into those that go with it.
void TieredHost::drop(std::size_t vm, BlockId block) {
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    if (!tiers_[k].take(part(vm), block)) continue;
    ++count(vm, k).invalidations;
    --count(vm, k).occupancy;
    if (!dirty(block, k)) continue;
    if (dirty_->above(block, k)) {
      dirty_->clear(block, k);
    } else {
      write_back(block);
    }
  }
}

absl::Status TieredHost::resize(const Allocation& targets) {
  if (!divided_) {
    return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
  }
  if (targets.tiers() != tiers_.size() || targets.vms() != counters_.size()) {
    return invalid_argument("targets: expected {} tiers x {} VMs, got {} x {}", tiers_.size(),
                            counters_.size(), targets.tiers(), targets.vms());
  }
  std::vector<std::vector<Count>> of_parts(tiers_.size());
  for (std::size_t k = 0; k < tiers_.size(); ++k) {
    MCSIM_ASSIGN_OR_RETURN(of_parts[k],
                           by_part(targets.tier(k), part_of_, k, tiers_[k].capacity()));
  }
  // From below, so that what a tier gives up finds the room that there will be.
  for (std::size_t k = tiers_.size(); k-- > 0;) {
    std::vector<BlockId> victims;
    tiers_[k].retarget(of_parts[k], victims);
    for (const BlockId victim : victims) leave<false>(k, victim, 1);
  }
  return absl::OkStatus();
}

std::vector<VmCounters> TieredHost::counters() const {
  std::vector<VmCounters> all = counters_;
  for (std::size_t vm = 0; vm < all.size(); ++vm) {
    VmCounters& of = all[vm];
    const auto& [reads, writes] = tallies_[vm].found;
    for (std::size_t k = 0; k <= backend(); ++k) {
      of.accesses += reads[k] + writes[k];
      of.writes += writes[k];
    }
    of.misses = reads[backend()] + writes[backend()];
    of.write_misses = writes[backend()];
    of.backend_reads = reads[backend()];
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      of.tiers[k].hits = reads[k] + writes[k];
      of.tiers[k].write_hits = writes[k];
      of.tiers[k].target = tiers_[k].target(part(vm));
    }
  }
  return all;
}

// Besides what each tier checks: who holds what is what was counted, copies are where the
// chain allows them, and what is dirty is held.
absl::Status TieredHost::check_invariants() const {
  for (const Tier& tier : tiers_) MCSIM_RETURN_IF_ERROR(tier.check());
  std::vector<Count> held(tiers_.size() * counters_.size(), 0);
  for (BlockId block = 0; block < blocks_; ++block) {
    const std::size_t vm = vm_of(block);
    unsigned where = 0;
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      const bool holds = tiers_[k].holds(part(vm), block);
      where |= static_cast<unsigned>(holds) << k;
      held[k * counters_.size() + vm] += holds ? 1 : 0;
      if (dirty(block, k) && !holds) {
        return internal_error("block {} is dirty in tier {}, which does not hold it", block, k);
      }
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

std::size_t TieredHost::vm_of(BlockId block) const {
  std::size_t begun = 0;
  for (const BlockId first : first_id_) begun += first <= block ? 1 : 0;
  return begun - 1;
}

}  // namespace mcsim
