#include "policies/allocation/zfs_arc.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "policies/hosts/kernel_time.hpp"

namespace mcsim {
namespace {

constexpr Count kKib = 1024;

}  // namespace

absl::StatusOr<std::unique_ptr<System>> ZfsArcSystem::make(Params params, SystemContext context) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(params.record_kib))) {
    return invalid_argument("record_kib: must be a power of two, got {}", params.record_kib);
  }
  std::vector<TierSpec>& tiers = context.machine.tiers;
  for (std::size_t k = 1; k < tiers.size(); ++k) {
    tiers[0].capacity_blocks += tiers[k].capacity_blocks;
  }
  if (tiers.size() > 1) tiers.resize(1);
  return std::make_unique<ZfsArcSystem>(std::move(params), std::move(context));
}

ExpandOptions ZfsArcSystem::trace_view(ExpandOptions experiment) const {
  const Count blocks = params_.record_kib * kKib / Count{experiment.block_bytes};
  experiment.line_blocks = static_cast<std::uint32_t>(std::max<Count>(blocks, 1));
  experiment.addresses = true;
  return experiment;
}

absl::StatusOr<std::unique_ptr<Host>> ZfsArcSystem::make_host(const Accesses& trace) {
  const Count record = params_.record_kib * kKib;
  if (record % Count{trace.block_bytes} != 0) {
    return invalid_argument(
        "record_kib: {} KiB are not a multiple of the experiment's blocks of {} B",
        params_.record_kib, trace.block_bytes);
  }
  MCSIM_RETURN_IF_ERROR(check_clock(trace, params_.rate, "on which promotions depend"));
  const Count capacity = machine_.tiers.front().capacity_blocks;
  const Count bytes = capacity * Count{trace.block_bytes};
  const Count overflow = params_.overflow_kib * kKib;
  const Count metadata = params_.metadata_bytes + params_.other_bytes;
  if (bytes - overflow - metadata < record) {
    return invalid_argument(
        "tiers: {} B have no space for overflow_kib of {}, {} B of metadata and a record of {} KiB",
        bytes, params_.overflow_kib, metadata, params_.record_kib);
  }
  return std::make_unique<ZfsArcHost>(ZfsArcHostSetup{.capacity = capacity,
                                                      .arc = {.target = bytes - overflow,
                                                              .overflow = overflow,
                                                              .metadata = params_.metadata_bytes,
                                                              .other = params_.other_bytes,
                                                              .buffers = params_.buffers,
                                                              .buffer_shift = params_.buffer_shift,
                                                              .hz = params_.hz},
                                                      .rate = params_.rate},
                                      trace);
}

}  // namespace mcsim
