#include "core/engine/placed_host.hpp"

#include <algorithm>
#include <utility>

namespace mcsim {

PlacedHost::PlacedHost(const Machine& machine, const Accesses& trace, Watch watch)
    : extent_blocks_(trace.line_blocks),
      owners_(trace),
      watch_(std::move(watch)),
      held_(machine.tiers.size(), 0),
      where_(trace.id_count() / trace.line_blocks, static_cast<std::uint8_t>(machine.tiers.size())),
      counters_(trace.vms.size()) {
  for (const TierSpec& tier : machine.tiers) capacity_.push_back(tier.capacity_blocks);
  for (VmCounters& vm : counters_) {
    for (const Count capacity : capacity_) vm.tiers.push_back({.target = capacity});
  }
}

void PlacedHost::replay(const Accesses& trace, RequestRange range) {
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    VmCounters& vm = counters_[trace.request_vm[r]];
    const Op op = static_cast<Op>(trace.request_op[r]);
    std::size_t slowest = 0;
    for (std::size_t i = 0; i < blocks.size();) {
      const std::size_t extent = blocks[i] / extent_blocks_;
      std::size_t end = i + 1;
      while (end < blocks.size() && blocks[end] / extent_blocks_ == extent) ++end;
      const auto count = static_cast<Count>(end - i);
      serve(vm, op, where_[extent], count);
      slowest = std::max<std::size_t>(slowest, where_[extent]);
      watch_({.extent = extent,
              .op = op,
              .blocks = count,
              .request_blocks = static_cast<Count>(blocks.size())});
      i = end;
    }
    ++vm.served(op).requests[slowest];
  }
}

void PlacedHost::serve(VmCounters& vm, Op op, std::size_t tier, Count blocks) {
  const bool writes = op == Op::kWrite;
  vm.accesses += blocks;
  vm.writes += writes ? blocks : 0;
  vm.served(op).blocks[tier] += blocks;
  if (tier == backend()) {
    vm.misses += blocks;
    vm.write_misses += writes ? blocks : 0;
    (writes ? vm.backend_writes : vm.backend_reads) += blocks;
    return;
  }
  vm.tiers[tier].hits += blocks;
  vm.tiers[tier].write_hits += writes ? blocks : 0;
  vm.tiers[tier].updates += writes ? blocks : 0;
}

absl::Status PlacedHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("a host that places extents has no targets to change");
}

absl::Status PlacedHost::place(std::span<const Placement> moves) {
  for (const Placement& move : moves) {
    if (move.extent >= where_.size() || move.tier > backend()) {
      return out_of_range("extent {} to tier {}: there are {} extents and {} tiers", move.extent,
                          move.tier, where_.size(), backend());
    }
  }
  std::vector<Count> held = held_;
  std::vector<std::uint8_t> where = where_;
  const auto size = static_cast<Count>(extent_blocks_);
  for (const Placement& move : moves) {
    if (where[move.extent] < backend()) held[where[move.extent]] -= size;
    where[move.extent] = static_cast<std::uint8_t>(move.tier);
    if (move.tier < backend()) held[move.tier] += size;
  }
  for (std::size_t k = 0; k < held.size(); ++k) {
    if (held[k] <= capacity_[k]) continue;
    return invalid_argument("tier {}: {} blocks would be placed in {}", k, held[k], capacity_[k]);
  }
  for (const Placement& of : moves) move(of.extent, of.tier);
  return absl::OkStatus();
}

void PlacedHost::move(std::size_t extent, std::size_t to) {
  const std::size_t from = where_[extent];
  if (from == to) return;
  VmCounters& vm = counters_[vm_of(extent)];
  const auto blocks = static_cast<Count>(extent_blocks_);
  if (from < backend()) {
    TierCounters& left = vm.tiers[from];
    (to == backend() ? left.evictions : to > from ? left.moved_down : left.moved_up) += blocks;
    left.occupancy -= blocks;
    held_[from] -= blocks;
  } else {
    vm.backend_reads += blocks;
  }
  if (to < backend()) {
    TierCounters& entered = vm.tiers[to];
    (from == backend() ? entered.fills
     : from > to       ? entered.promotions
                       : entered.demotions) += blocks;
    entered.occupancy += blocks;
    held_[to] += blocks;
  } else {
    vm.backend_writes += blocks;
  }
  where_[extent] = static_cast<std::uint8_t>(to);
}

void PlacedHost::release(std::size_t vm) {
  const std::size_t end = owners_.end_of(vm) / extent_blocks_;
  for (std::size_t extent = owners_.first_of(vm) / extent_blocks_; extent < end; ++extent) {
    const std::size_t tier = where_[extent];
    if (tier == backend()) continue;
    const auto blocks = static_cast<Count>(extent_blocks_);
    counters_[vm].tiers[tier].invalidations += blocks;
    counters_[vm].tiers[tier].occupancy -= blocks;
    held_[tier] -= blocks;
    where_[extent] = static_cast<std::uint8_t>(backend());
  }
}

absl::Status PlacedHost::check_invariants() const {
  std::vector<Count> found(held_.size(), 0);
  for (const std::uint8_t tier : where_) {
    if (tier < backend()) found[tier] += static_cast<Count>(extent_blocks_);
  }
  for (std::size_t k = 0; k < held_.size(); ++k) {
    if (found[k] == held_[k] && found[k] <= capacity_[k]) continue;
    return internal_error("tier {} has {} blocks of {} placed in it, counted {}", k, found[k],
                          capacity_[k], held_[k]);
  }
  return absl::OkStatus();
}

}  // namespace mcsim
