#include "core/engine/hosts/classed_host.hpp"

#include <algorithm>
#include <utility>

#include "core/engine/hosts/request_counts.hpp"

namespace mcsim {

ClassedHost::ClassedHost(const Machine& machine, const Accesses& trace, std::size_t always,
                         Classifier classifier)
    : always_(always),
      classifier_(std::move(classifier)),
      owners_(trace),
      held_(machine.tiers.size(), 0),
      lists_(trace.id_count()),
      where_(trace.id_count(), static_cast<std::uint8_t>(machine.tiers.size())),
      counters_(trace.vms.size()) {
  for (const TierSpec& tier : machine.tiers) capacity_.push_back(tier.capacity_blocks);
  for (VmCounters& vm : counters_) {
    for (const Count capacity : capacity_) vm.tiers.push_back({.target = capacity});
  }
}

void ClassedHost::replay(const Accesses& trace, RequestRange range) {
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    const VmId vm = trace.request_vm[r];
    const Op op = static_cast<Op>(trace.request_op[r]);
    const std::size_t of_class = classifier_(trace, r);
    Served& served = counters_[vm].served(op);
    std::size_t slowest = 0;
    MissedBlocks missed;
    for (const BlockId& block : blocks) {
      const std::size_t found = access(vm, op, block, of_class);
      const std::size_t waited_for = op == Op::kRead ? found : backend();
      ++served.blocks[waited_for];
      slowest = std::max(slowest, waited_for);
      missed.note(&block == &blocks.front(), found == backend());
    }
    count_request(trace, r, missed, counters_[vm]);
    ++served.requests[slowest];
  }
}

std::size_t ClassedHost::access(VmId vm, Op op, BlockId block, std::size_t of_class) {
  VmCounters& counts = counters_[vm];
  const bool writes = op == Op::kWrite;
  const std::size_t found = where_[block];
  ++counts.accesses;
  counts.writes += writes ? 1 : 0;
  counts.backend_writes += writes ? 1 : 0;
  if (backend_log_ != nullptr && (writes || found == backend())) backend_log_->push(op, block);
  if (found == backend()) {
    ++counts.misses;
    counts.write_misses += writes ? 1 : 0;
    counts.backend_reads += writes ? 0 : 1;
  } else {
    ++counts.tiers[found].hits;
    counts.tiers[found].write_hits += writes ? 1 : 0;
    remove(block);
  }
  // The tier that held the block has space now.
  const std::size_t to = first_accepting(0, of_class);
  if (to == backend()) return found;
  if (to == found) {
    counts.tiers[found].updates += writes ? 1 : 0;
  } else {
    if (found < backend()) ++counts.tiers[found].moved_up;
    ++(found == backend() ? counts.tiers[to].fills : counts.tiers[to].promotions);
  }
  insert(to, block, of_class);
  return found;
}

bool ClassedHost::accepts(std::size_t tier, std::size_t of_class) const {
  return held_[tier] < capacity_[tier] || (capacity_[tier] > 0 && of_class < always_);
}

std::size_t ClassedHost::first_accepting(std::size_t tier, std::size_t of_class) const {
  while (tier < backend() && !accepts(tier, of_class)) ++tier;
  return tier;
}

void ClassedHost::insert(std::size_t tier, BlockId block, std::size_t of_class) {
  if (held_[tier] == capacity_[tier]) evict_one(tier);
  lists_.push_front(list(tier, of_class), block);
  where_[block] = static_cast<std::uint8_t>(tier);
  ++held_[tier];
  ++counters_[owners_.vm_of(block)].tiers[tier].occupancy;
}

void ClassedHost::evict_one(std::size_t tier) {
  std::size_t of_class = kMostClasses - 1;
  while (lists_.empty(list(tier, of_class))) --of_class;
  const BlockId victim(lists_.back(list(tier, of_class)));
  remove(victim);
  push_down(tier, victim, of_class);
}

void ClassedHost::push_down(std::size_t tier, BlockId block, std::size_t of_class) {
  VmCounters& owner = counters_[owners_.vm_of(block)];
  const std::size_t to = first_accepting(tier + 1, of_class);
  if (to == backend()) {
    ++owner.tiers[tier].evictions;
    return;
  }
  ++owner.tiers[tier].moved_down;
  ++owner.tiers[tier].copied_out;
  ++owner.tiers[to].demotions;
  insert(to, block, of_class);
}

void ClassedHost::remove(BlockId block) {
  const std::size_t tier = where_[block];
  lists_.erase(block);
  where_[block] = static_cast<std::uint8_t>(backend());
  --held_[tier];
  --counters_[owners_.vm_of(block)].tiers[tier].occupancy;
}

absl::Status ClassedHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that all VMs share has no targets to change");
}

void ClassedHost::release(VmId vm) {
  for (BlockId block = owners_.first_of(vm); block < owners_.end_of(vm); ++block) {
    invalidate(block);
  }
}

void ClassedHost::discard(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) invalidate(block);
}

void ClassedHost::invalidate(BlockId block) {
  if (where_[block] == backend()) return;
  ++counters_[owners_.vm_of(block)].tiers[where_[block]].invalidations;
  remove(block);
}

absl::Status ClassedHost::save(ArchiveWriter& to) {
  to(capacity_);
  for (Lists::List list = 0; list < backend() * kMostClasses; ++list) {
    std::vector<BlockId> blocks;
    for (Slot slot = lists_.back(list); slot != kNoSlot; slot = lists_.newer(slot)) {
      blocks.push_back(BlockId(slot));
    }
    to(blocks);
  }
  to(counters_);
  return absl::OkStatus();
}

absl::Status ClassedHost::load(ArchiveReader& from) {
  std::vector<Count> capacity;
  from.limit_blocks(where_.size());
  from(capacity);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (capacity != capacity_) {
    return invalid_argument("the state is one of {} blocks, not of {}", fmt::join(capacity, " + "),
                            fmt::join(capacity_, " + "));
  }
  for (Lists::List list = 0; list < backend() * kMostClasses; ++list) {
    const std::size_t tier = list / kMostClasses;
    for (const BlockId block : from.read_blocks()) {
      if (where_[block] != backend()) return data_loss("block {} is in two lists", block);
      lists_.push_front(list, block);
      where_[block] = static_cast<std::uint8_t>(tier);
      ++held_[tier];
    }
  }
  from(counters_);
  MCSIM_RETURN_IF_ERROR(from.status());
  return check_invariants();
}

absl::Status ClassedHost::check_invariants() const {
  MCSIM_RETURN_IF_ERROR(lists_.check());
  std::vector<Count> found(counters_.size() * (backend() + 1), 0);
  for (BlockId block = 0; block < where_.size(); ++block) {
    ++found[owners_.vm_of(block) * (backend() + 1) + where_[block]];
    if (where_[block] == backend()) continue;
    if (lists_.list_of(block) / kMostClasses == where_[block]) continue;
    return internal_error("block {} is not in a list of its tier {}", block, where_[block]);
  }
  for (std::size_t k = 0; k < backend(); ++k) {
    Count held = 0;
    for (std::size_t vm = 0; vm < counters_.size(); ++vm) {
      const Count of_vm = found[vm * (backend() + 1) + k];
      held += of_vm;
      if (of_vm == counters_[vm].tiers[k].occupancy) continue;
      return internal_error("VM {} holds {} blocks of tier {}, counted {}", vm, of_vm, k,
                            counters_[vm].tiers[k].occupancy);
    }
    if (held == held_[k] && held <= capacity_[k]) continue;
    return internal_error("tier {} holds {} blocks of {}, counted {}", k, held, capacity_[k],
                          held_[k]);
  }
  return absl::OkStatus();
}

}  // namespace mcsim
