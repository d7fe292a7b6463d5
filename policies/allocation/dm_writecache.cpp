#include "policies/allocation/dm_writecache.hpp"

#include <bit>
#include <limits>
#include <utility>

namespace mcsim {
namespace {

constexpr Count kLeastBlockBytes = 512;
constexpr Count kMostBlockBytes = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<System>> DmWritecache::make(Params params, SystemContext context) {
  if (params.low_watermark > params.high_watermark) {
    return invalid_argument("low_watermark: must not exceed high_watermark, {}, got {}",
                            params.high_watermark, params.low_watermark);
  }
  std::vector<TierSpec>& tiers = context.machine.tiers;
  for (std::size_t k = 1; k < tiers.size(); ++k) {
    tiers[0].capacity_blocks += tiers[k].capacity_blocks;
  }
  if (tiers.size() > 1) tiers.resize(1);
  return std::make_unique<DmWritecache>(std::move(params), std::move(context));
}

ExpandOptions DmWritecache::trace_view(ExpandOptions experiment) const {
  experiment.addresses = true;
  return experiment;
}

absl::StatusOr<std::unique_ptr<Host>> DmWritecache::make_host(const Accesses& trace) {
  const Count block = trace.block_bytes;
  const bool is_power_of_two = std::has_single_bit(static_cast<std::uint64_t>(block));
  if (block < kLeastBlockBytes || block > kMostBlockBytes || !is_power_of_two) {
    return invalid_argument(
        "block_bytes: dm-writecache has blocks of 512, 1024, 2048 or 4096 B, got {} B", block);
  }
  MCSIM_RETURN_IF_ERROR(check_clock(trace, params_.rate, "which commits need"));
  const Count capacity = machine_.tiers.front().capacity_blocks;
  if (WritecacheHost::entries_on(capacity, block) == 0) {
    return invalid_argument("tiers: {} blocks have no space for metadata and a block", capacity);
  }
  if (capacity >= Count{std::numeric_limits<std::uint32_t>::max()}) {
    return invalid_argument("tiers: {} blocks are more than dm-writecache is simulated with",
                            capacity);
  }
  const auto ticks = [this](Duration of) { return jiffies_at(of.ns, params_.hz); };
  return std::make_unique<WritecacheHost>(
      WritecacheHostSetup{
          .capacity = capacity,
          .cache = {.high_watermark = params_.high_watermark,
                    .low_watermark = params_.low_watermark,
                    .autocommit_blocks = static_cast<std::size_t>(params_.autocommit_blocks),
                    .autocommit_time = ticks(params_.autocommit_time),
                    .pause = ticks(params_.pause_writeback),
                    .max_age = ticks(params_.max_age),
                    .created = ticks(params_.created)},
          .hz = params_.hz,
          .first = params_.created.ns + params_.phase.ns,
          .rate = params_.rate},
      trace);
}

}  // namespace mcsim
