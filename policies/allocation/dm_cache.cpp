#include "policies/allocation/dm_cache.hpp"

#include <algorithm>
#include <utility>

namespace mcsim {
namespace {

constexpr Count kKib = 1024;
constexpr Count kBlockStepKib = 32;
constexpr Count kSectorBytes = 512;

}  // namespace

absl::StatusOr<std::unique_ptr<System>> DmCache::make(Params params, SystemContext context) {
  if (params.block_kib % kBlockStepKib != 0) {
    return invalid_argument("block_kib: must be a multiple of {}, got {}", kBlockStepKib,
                            params.block_kib);
  }
  std::vector<TierSpec>& tiers = context.machine.tiers;
  for (std::size_t k = 1; k < tiers.size(); ++k) {
    tiers[0].capacity_blocks += tiers[k].capacity_blocks;
  }
  if (tiers.size() > 1) tiers.resize(1);
  return std::make_unique<DmCache>(std::move(params), std::move(context));
}

ExpandOptions DmCache::trace_view(ExpandOptions experiment) const {
  const Count blocks = params_.block_kib * kKib / Count{experiment.block_bytes};
  experiment.line_blocks = static_cast<std::uint32_t>(std::max<Count>(blocks, 1));
  experiment.addresses = true;
  return experiment;
}

absl::StatusOr<std::unique_ptr<Host>> DmCache::make_host(const Accesses& trace) {
  if (params_.block_kib * kKib % Count{trace.block_bytes} != 0) {
    return invalid_argument(
        "block_kib: {} KiB is not a multiple of the experiment's blocks of {} B", params_.block_kib,
        trace.block_bytes);
  }
  MCSIM_RETURN_IF_ERROR(check_clock(trace, params_.rate, "on which hits depend"));
  const Count capacity = machine_.tiers.front().capacity_blocks;
  if (capacity < Count{trace.line_blocks}) {
    return invalid_argument("tiers: {} blocks have no space for a cache block of {} KiB", capacity,
                            params_.block_kib);
  }
  MCSIM_ASSIGN_OR_RETURN(
      auto host,
      DmCacheHost::make({.capacity = capacity,
                         .origin_bytes = static_cast<std::uint64_t>(params_.origin_gib * (1 << 30)),
                         .policy = params_.policy,
                         .writes = params_.writes,
                         .migration_threshold = params_.migration_threshold * kSectorBytes,
                         .hz = params_.hz,
                         .created = params_.created.ns,
                         .first = params_.created.ns + params_.phase.ns,
                         .rate = params_.rate,
                         .phases = params_.phases,
                         .dump = dump_},
                        trace));
  host_ = host.get();
  return host;
}

// Report the range of hits over all phases.
absl::StatusOr<std::optional<Decision>> DmCache::decide(const Observation& seen) {
  Count accesses = 0;
  for (const VmCounters& vm : seen.counters) accesses += vm.accesses;
  const auto [least, most] = host_->range_of_hits();
  const double percent = accesses == 0 ? 0 : 100.0 / static_cast<double>(accesses);
  return Decision{.note = fmt::format("{:.2f} to {:.2f} % of all accesses so far hit, at {} phases",
                                      percent * static_cast<double>(least),
                                      percent * static_cast<double>(most), params_.phases)};
}

}  // namespace mcsim
