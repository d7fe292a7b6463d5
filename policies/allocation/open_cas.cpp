#include "policies/allocation/open_cas.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string_view>
#include <utility>

namespace mcsim {
namespace {

constexpr Count kKib = 1024;
constexpr Count kMostLineBlocks = 64;

absl::Status check_seconds(std::string_view name, Duration value) {
  if (value.ns % kSecond == 0) return absl::OkStatus();
  return invalid_argument("{}: must be whole seconds, got {} ns", name, value.ns);
}

}  // namespace

absl::StatusOr<std::unique_ptr<System>> OpenCasSystem::make(Params params, SystemContext context) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(params.line_kib))) {
    return invalid_argument("line_kib: must be 4, 8, 16, 32 or 64, got {}", params.line_kib);
  }
  MCSIM_RETURN_IF_ERROR(check_seconds("wake_up", params.wake_up));
  MCSIM_RETURN_IF_ERROR(check_seconds("staleness", params.staleness));
  std::vector<TierSpec>& tiers = context.machine.tiers;
  for (std::size_t k = 1; k < tiers.size(); ++k) {
    tiers[0].capacity_blocks += tiers[k].capacity_blocks;
  }
  if (tiers.size() > 1) tiers.resize(1);
  return std::make_unique<OpenCasSystem>(std::move(params), std::move(context));
}

ExpandOptions OpenCasSystem::trace_view(ExpandOptions experiment) const {
  const Count blocks = params_.line_kib * kKib / Count{experiment.block_bytes};
  experiment.line_blocks = static_cast<std::uint32_t>(std::max<Count>(blocks, 1));
  experiment.addresses = true;
  experiment.bytes = true;
  return experiment;
}

absl::StatusOr<std::unique_ptr<Host>> OpenCasSystem::make_host(const Accesses& trace) {
  const Count block = trace.block_bytes;
  const Count line = params_.line_kib * kKib;
  if (line % block != 0 || line / block > kMostLineBlocks) {
    return invalid_argument("line_kib: {} KiB are not 1 to {} of the experiment's blocks of {} B",
                            params_.line_kib, kMostLineBlocks, block);
  }
  const bool needs_times = setup_of(1).keeps_dirty() && params_.cleaning == OpenCasCleaning::kAlru;
  MCSIM_RETURN_IF_ERROR(check_clock(trace, params_.rate, needs_times ? "which alru needs" : ""));
  const Count capacity = machine_.tiers.front().capacity_blocks;
  const Count lines =
      params_.metadata ? OpenCasHost::lines_on(capacity * block, line) : capacity * block / line;
  if (lines == 0) {
    return invalid_argument(
        "tiers: {} blocks of {} B are {}", capacity, block,
        params_.metadata ? "less than 40 MiB, which Open CAS refuses" : "less than a line");
  }
  if (lines >= Count{std::numeric_limits<std::int32_t>::max()}) {
    return invalid_argument("tiers: {} lines are more than Open CAS is simulated with", lines);
  }
  return std::make_unique<OpenCasHost>(
      OpenCasHostSetup{.cache = setup_of(lines), .phase = params_.phase.ns, .rate = params_.rate},
      trace);
}

OpenCasSetup OpenCasSystem::setup_of(Count lines) const {
  return {.lines = static_cast<std::size_t>(lines),
          .line_bytes = params_.line_kib * kKib,
          .writes = params_.writes,
          .promotion = params_.promotion,
          .nhit_threshold = static_cast<std::uint32_t>(params_.nhit_threshold),
          .nhit_trigger = params_.nhit_trigger,
          .cutoff = params_.cutoff,
          .cutoff_bytes = static_cast<std::uint64_t>(params_.cutoff_kib * kKib),
          .cleaning = params_.cleaning,
          .wake = params_.wake_up.ns,
          .stale = params_.staleness.ns,
          .flush_lines = static_cast<std::size_t>(params_.flush_lines),
          .idle = params_.idle.ns,
          .dirty_ratio = params_.dirty_ratio,
          .dirty_inertia = params_.dirty_inertia_mib << 20};
}

}  // namespace mcsim
