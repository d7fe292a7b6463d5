#include "core/engine/hosts/placed_host.hpp"

#include <algorithm>
#include <utility>

#include "core/base/share.hpp"

namespace mcsim {

WriteArea write_area_of(const Machine& machine, double share, double high_water) {
  const Count blocks = floor_share(share, machine.tiers.front().capacity_blocks);
  return {.blocks = blocks, .most_dirty = floor_share(high_water, blocks)};
}

std::vector<Count> extent_capacity(const WriteArea& area, const Machine& machine,
                                   Count extent_blocks) {
  std::vector<Count> extents;
  for (const TierSpec& tier : machine.tiers) {
    const Count taken = extents.empty() ? area.blocks : 0;
    extents.push_back((tier.capacity_blocks - taken) / extent_blocks);
  }
  return extents;
}

std::vector<VmId> vms_of_extents(const Accesses& trace) {
  std::vector<VmId> vms;
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    const auto blocks = static_cast<std::size_t>(trace.vms[vm].unique_blocks);
    vms.insert(vms.end(), blocks / trace.line_blocks, static_cast<VmId>(vm));
  }
  return vms;
}

PlacedHost::PlacedHost(const Machine& machine, const Accesses& trace, Watch watch, WriteArea area)
    : extent_blocks_(trace.line_blocks),
      owners_(trace),
      watch_(std::move(watch)),
      area_(area),
      written_(area.blocks > 0 ? trace.id_count() : 0),
      dirty_(
          {.modes = std::vector(trace.vms.size(), WriteMode::kBack), .most_dirty = area.most_dirty},
          trace, Copies::kOne),
      held_(machine.tiers.size(), 0),
      where_(trace.id_count() / trace.line_blocks, static_cast<std::uint8_t>(machine.tiers.size())),
      counters_(trace.vms.size()) {
  for (const TierSpec& tier : machine.tiers) capacity_.push_back(tier.capacity_blocks);
  for (VmCounters& vm : counters_) {
    for (const Count capacity : capacity_) vm.tiers.push_back({.target = capacity});
  }
  if (!capacity_.empty()) capacity_[0] -= area_.blocks;
}

void PlacedHost::replay(const Accesses& trace, RequestRange range) {
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::span<const BlockId> blocks = trace.blocks_of(r);
    if (blocks.empty()) continue;
    VmCounters& vm = counters_[trace.request_vm[r]];
    const Op op = static_cast<Op>(trace.request_op[r]);
    const auto request_blocks = static_cast<Count>(blocks.size());
    const Count request_bytes =
        trace.keeps_bytes ? Count{trace.request_bytes[r]} : request_blocks * trace.block_bytes;
    std::size_t slowest = 0;
    MissedBlocks missed;
    for (std::size_t i = 0; i < blocks.size();) {
      const std::size_t extent = blocks[i] / extent_blocks_;
      std::size_t end = i + 1;
      while (end < blocks.size() && blocks[end] / extent_blocks_ == extent) ++end;
      const auto count = static_cast<Count>(end - i);
      std::size_t by = where_[extent];
      if (by == backend() && area_.blocks > 0) {
        by = serve_with_area(trace.request_vm[r], op, blocks.subspan(i, end - i), i == 0, missed);
      } else {
        serve(vm, op, by, blocks.subspan(i, end - i));
        for (std::size_t k = i; k < end; ++k) missed.note(k == 0, by == backend());
      }
      slowest = std::max(slowest, by);
      watch_({.extent = extent,
              .op = op,
              .blocks = count,
              .request_blocks = request_blocks,
              .request_bytes = request_bytes});
      i = end;
    }
    ++vm.served(op).requests[slowest];
    count_request(trace, r, missed, vm);
  }
}

absl::Status PlacedHost::attach(const Observers& observers) {
  backend_log_ = observers.log;
  if (observers.log != nullptr) dirty_.attach(*observers.log);
  return refuse_probe(observers);
}

void PlacedHost::serve(VmCounters& vm, Op op, std::size_t tier, std::span<const BlockId> touched) {
  const bool writes = op == Op::kWrite;
  const auto blocks = static_cast<Count>(touched.size());
  vm.accesses += blocks;
  vm.writes += writes ? blocks : 0;
  vm.served(op).blocks[tier] += blocks;
  if (tier == backend()) {
    vm.misses += blocks;
    vm.write_misses += writes ? blocks : 0;
    (writes ? vm.backend_writes : vm.backend_reads) += blocks;
    for (const BlockId block : touched) {
      if (backend_log_ != nullptr) backend_log_->push(op, block);
    }
    return;
  }
  vm.tiers[tier].hits += blocks;
  vm.tiers[tier].write_hits += writes ? blocks : 0;
  vm.tiers[tier].updates += writes ? blocks : 0;
}

std::size_t PlacedHost::serve_with_area(VmId vm, Op op, std::span<const BlockId> blocks,
                                        bool is_first, MissedBlocks& missed) {
  std::size_t slowest = 0;
  for (const BlockId block : blocks) {
    missed.note(std::exchange(is_first, false), !written_.contains(block));
    if (op == Op::kWrite) {
      write_to_area(vm, block);
      continue;
    }
    const std::size_t by = written_.contains(block) ? 0 : backend();
    serve(counters_[vm], op, by, {&block, 1});
    slowest = std::max(slowest, by);
  }
  return slowest;
}

void PlacedHost::write_to_area(VmId vm, BlockId block) {
  VmCounters& of = counters_[vm];
  if (written_.contains(block)) {
    serve(of, Op::kWrite, 0, {&block, 1});
    written_.erase(block);
  } else {
    if (written_.size() == area_.blocks) leave_area(written_.front(), &TierCounters::evictions);
    ++of.accesses;
    ++of.writes;
    ++of.misses;
    ++of.write_misses;
    ++of.writes_served.blocks[0];
    ++of.tiers[0].fills;
    ++of.tiers[0].occupancy;
  }
  written_.push(block);
  dirty_.mark(vm, block);
  while (dirty_.too_many()) {
    const BlockId oldest = dirty_.oldest();
    write_back(owners_.vm_of(oldest), oldest);
  }
}

void PlacedHost::leave_area(BlockId block, Count TierCounters::* as) {
  const VmId vm = owners_.vm_of(block);
  if (dirty_.contains(block)) write_back(vm, block);
  written_.erase(block);
  ++(counters_[vm].tiers[0].*as);
  --counters_[vm].tiers[0].occupancy;
}

// Write back a block of the write area.
void PlacedHost::write_back(VmId vm, BlockId block) {
  ++counters_[vm].tiers[0].copied_out;
  dirty_.write_back(vm, block);
}

void PlacedHost::clear_area(BlockId begin, BlockId end) {
  for (BlockId block = begin; block < end && !written_.empty(); ++block) {
    if (written_.contains(block)) leave_area(block, &TierCounters::invalidations);
  }
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
  const auto first = static_cast<BlockId>(extent * extent_blocks_);
  clear_area(first, first + extent_blocks_);
  if (backend_log_ != nullptr && (from == backend() || to == backend())) {
    const Op op = to == backend() ? Op::kWrite : Op::kRead;
    for (std::size_t i = 0; i < extent_blocks_; ++i) backend_log_->push(op, BlockId(first + i));
  }
  if (from < backend()) {
    TierCounters& left = vm.tiers[from];
    (to == backend() ? left.evictions : to > from ? left.moved_down : left.moved_up) += blocks;
    left.copied_out += blocks;
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

void PlacedHost::release(VmId vm) {
  clear_area(owners_.first_of(vm), owners_.end_of(vm));
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

void PlacedHost::discard(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    if (area_.blocks == 0 || !written_.contains(block)) continue;
    dirty_.discard(owners_.vm_of(block), block);
    leave_area(block, &TierCounters::invalidations);
  }
}

std::vector<VmCounters> PlacedHost::counters() const {
  std::vector<VmCounters> all = counters_;
  for (std::size_t vm = 0; vm < all.size(); ++vm) dirty_.add_counts(vm, all[vm]);
  return all;
}

absl::Status PlacedHost::save(ArchiveWriter& to) {
  to(capacity_, extent_blocks_, area_, where_, held_, written_, dirty_, counters_);
  return absl::OkStatus();
}

absl::Status PlacedHost::load(ArchiveReader& from) {
  std::vector<Count> capacity;
  std::size_t extent_blocks = 0;
  WriteArea area;
  from.limit_blocks(where_.size() * extent_blocks_);
  from(capacity, extent_blocks, area);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (capacity != capacity_ || extent_blocks != extent_blocks_ || area.blocks != area_.blocks ||
      area.most_dirty != area_.most_dirty) {
    return invalid_argument("the state is one of other tiers, extents or write areas");
  }
  from(where_, held_, written_, dirty_, counters_);
  MCSIM_RETURN_IF_ERROR(from.status());
  if (!std::ranges::all_of(where_, [&](std::size_t tier) { return tier <= backend(); })) {
    return data_loss("an extent is in an unknown tier");
  }
  return check_invariants();
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
  return check_area();
}

absl::Status PlacedHost::check_area() const {
  if (area_.blocks == 0) return absl::OkStatus();
  Count held = 0;
  for (BlockId block = 0; block < where_.size() * extent_blocks_; ++block) {
    const bool here = written_.contains(block);
    held += here ? 1 : 0;
    if (here ? where_[block / extent_blocks_] != backend() : dirty_.contains(block)) {
      return internal_error("block {} is {}", block,
                            here ? "in the write area and in a tier" : "dirty, and nowhere");
    }
  }
  if (held == written_.size() && held <= area_.blocks) return absl::OkStatus();
  return internal_error("the write area has {} blocks of {}, counted {}", held, area_.blocks,
                        written_.size());
}

}  // namespace mcsim
