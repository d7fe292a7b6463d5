#include "core/engine/hosts/weighed_host.hpp"

#include <algorithm>
#include <utility>

#include "core/engine/hosts/discards_by_access.hpp"

namespace mcsim {
namespace {

absl::Status check_objects(const Accesses& trace) {
  if (!trace.keeps_bytes) return invalid_argument("the trace has no sizes of objects");
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (trace.blocks_of(r).size() > 1) return internal_error("request {} has several objects", r);
    if (trace.request_bytes[r] > 0 || trace.blocks_of(r).empty()) continue;
    return invalid_argument("request {} is for an object without a size", r);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> WeighedHost::make(std::vector<Part> parts,
                                                        std::vector<std::size_t> part_of,
                                                        const Accesses& trace) {
  MCSIM_RETURN_IF_ERROR(check_objects(trace));
  std::unique_ptr<WeighedHost> host(new WeighedHost(std::move(parts), std::move(part_of), trace));
  const auto needs = [](const Part& part) { return part.cache->needs_next_use(); };
  if (std::ranges::any_of(host->parts_, needs)) {
    MCSIM_ASSIGN_OR_RETURN(host->next_uses_,
                           next_uses(trace.ids, trace.id_count(), 1, discards_by_access(trace)));
  }
  return host;
}

WeighedHost::WeighedHost(std::vector<Part> parts, std::vector<std::size_t> part_of,
                         const Accesses& trace)
    : parts_(std::move(parts)),
      part_of_(std::move(part_of)),
      owners_(trace),
      held_(trace.id_count()),
      counters_(trace.vms.size()) {
  for (std::size_t vm = 0; vm < counters_.size(); ++vm) {
    const Count target = cache_of(static_cast<VmId>(vm)).capacity();
    counters_[vm].tiers.push_back({.target = target});
  }
}

void WeighedHost::replay(const Accesses& trace, RequestRange range) {
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::size_t i = trace.request_begin[r];
    if (trace.request_begin[r + 1] == i) continue;
    const VmId vm = trace.request_vm[r];
    const auto op = static_cast<Op>(trace.request_op[r]);
    const Access<> a{.block = trace.ids[i],
                     .op = op,
                     .next_use = next_uses_.size() > 0 ? next_uses_[i] : kNever,
                     .weight = trace.request_bytes[r]};
    const bool hit = serve(vm, a);
    VmCounters& counts = counters_[vm];
    const Count writes = op == Op::kWrite ? 1 : 0;
    ++counts.requests;
    ++counts.accesses;
    counts.writes += writes;
    counts.bytes += a.weight;
    counts.backend_writes += writes;
    if (hit) {
      ++counts.request_hits;
      counts.byte_hits += a.weight;
      ++counts.tiers[0].hits;
      counts.tiers[0].write_hits += writes;
    } else {
      ++counts.misses;
      counts.write_misses += writes;
      counts.backend_reads += 1 - writes;
    }
    const std::size_t by = hit && writes == 0 ? 0 : kBackend;
    ++counts.served(op).blocks[by];
    ++counts.served(op).requests[by];
  }
}

bool WeighedHost::serve(VmId vm, const Access<>& a) {
  TierCache& cache = cache_of(vm);
  TierCounters& tier = counters_[vm].tiers[0];
  std::uint32_t& held = held_[a.block];
  const Count before = held;
  const bool hit = held > 0 && cache.touch(a);
  if (!hit) {
    cache.insert(a, victims_);
    for (const BlockId victim : victims_) evict(victim);
    victims_.clear();
  }
  const Count now = cache.contains(a.block) ? a.weight : 0;
  held = static_cast<std::uint32_t>(now);
  tier.occupancy += now - before;
  if (now > before) tier.fills += now - before;
  if (now < before) tier.invalidations += before - now;
  if (hit && now > 0 && a.op == Op::kWrite) tier.updates += now;
  return hit;
}

void WeighedHost::evict(BlockId object) {
  TierCounters& tier = counters_[owners_.vm_of(object)].tiers[0];
  const Count bytes = std::exchange(held_[object], 0U);
  tier.evictions += bytes;
  tier.occupancy -= bytes;
}

void WeighedHost::invalidate(VmId vm, BlockId object) {
  if (!cache_of(vm).discard(object)) return;
  TierCounters& tier = counters_[vm].tiers[0];
  const Count bytes = std::exchange(held_[object], 0U);
  tier.invalidations += bytes;
  tier.occupancy -= bytes;
}

absl::Status WeighedHost::resize(const Allocation&) {
  return absl::FailedPreconditionError("parts in bytes are fixed");
}

absl::Status WeighedHost::attach(const Observers& observers) {
  if (observers.log != nullptr) {
    return absl::FailedPreconditionError("backend log: of objects there is none");
  }
  return refuse_probe(observers);
}

void WeighedHost::release(VmId vm) {
  for (BlockId object = owners_.first_of(vm); object < owners_.end_of(vm); ++object) {
    invalidate(vm, object);
  }
}

void WeighedHost::discard(std::span<const BlockId> objects) {
  for (const BlockId object : objects) invalidate(owners_.vm_of(object), object);
}

absl::Status WeighedHost::check_invariants() const {
  std::vector<Count> bytes(counters_.size());
  for (std::size_t object = 0; object < held_.size(); ++object) {
    bytes[owners_.vm_of(static_cast<BlockId>(object))] += held_[object];
  }
  for (std::size_t vm = 0; vm < bytes.size(); ++vm) {
    if (bytes[vm] == counters_[vm].tiers[0].occupancy) continue;
    return internal_error("VM {} holds {} bytes, counted {}", vm, bytes[vm],
                          counters_[vm].tiers[0].occupancy);
  }
  for (const Part& part : parts_) MCSIM_RETURN_IF_ERROR(part.cache->check());
  return absl::OkStatus();
}

}  // namespace mcsim
