#include "policies/allocation/divided_cache.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/share.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

DividedCache::DividedCache(const Params& params, SystemContext context)
    : params_(params),
      machine_(std::move(context.machine)),
      period_(params.period.ns > 0 ? params.period.ns : context.interval),
      seed_(context.seed) {
  for (const TierSpec& tier : machine_.tiers) capacity_ += tier.capacity_blocks;
}

absl::StatusOr<std::unique_ptr<Host>> DividedCache::make_host(const Accesses& trace) {
  host_of_ = hosts_of(machine_, trace);
  std::vector<Count> blocks(trace.vms.size());
  for (const std::vector<std::size_t>& vms : by_host(machine_, host_of_)) {
    const std::vector<Count> parts = proportional(capacity_, std::vector(vms.size(), 1.0));
    for (std::size_t i = 0; i < vms.size(); ++i) blocks[vms[i]] = parts[i];
  }
  MCSIM_RETURN_IF_ERROR(begin(trace, blocks));
  MCSIM_RETURN_IF_ERROR(mode_curves_.set_modes(params_, machine_.tiers.size(), trace.vms));
  const Division division =
      one_part_each(over_tiers(machine_, blocks, host_of_), {.mode = params_.resize_mode});
  return make_data_path(params_, machine_, trace, division, seed_);
}

absl::StatusOr<std::optional<Decision>> DividedCache::decide(const Observation& seen) {
  std::vector<Count> blocks;
  for (std::size_t vm = 0; vm < seen.vms(); ++vm) {
    blocks.push_back(in_all_tiers(seen.current, vm));
    host_of_[vm] = static_cast<std::size_t>(seen.counters[vm].host);
  }
  curves_ = mode_curves_.select(seen);
  Decision decision;
  decision.infeasible = divide(seen, blocks);
  decision.note = std::exchange(note_, {});
  decision.targets = over_tiers(machine_, blocks, host_of_);
  return decision;
}

Count DividedCache::held(const VmCounters& vm) {
  Count sum = 0;
  for (const TierCounters& tier : vm.tiers) sum += tier.occupancy;
  return sum;
}

void DividedCache::share_free(const Observation& seen, std::vector<Count>& blocks) const {
  std::vector<bool> present = seen.departed;
  present.flip();
  spread(capacity_ - std::accumulate(blocks.begin(), blocks.end(), Count{0}), present, blocks);
}

ChunkMover::ChunkMover(const Params& params, SystemContext context)
    : DividedCache(params, std::move(context)),
      chunk_(std::max<Count>(1, floor_share(params.chunk, capacity()))),
      floor_(params.floor * chunk_) {}

void ChunkMover::move(std::size_t from, std::size_t to, std::vector<Count>& blocks) const {
  const Count moved = spare(blocks[from]);
  blocks[from] -= moved;
  blocks[to] += moved;
}

std::string ChunkMover::too_small(const Observation& seen) const {
  const Count vms = std::ranges::count(seen.departed, false);
  if (vms == 0 || floor_ <= capacity() / vms) return {};
  return fmt::format(
      "the floors of {} VMs, {} blocks each, are more than the {} blocks of the cache", vms, floor_,
      capacity());
}

}  // namespace mcsim
