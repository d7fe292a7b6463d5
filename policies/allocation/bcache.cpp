#include "policies/allocation/bcache.hpp"

#include <bit>
#include <limits>
#include <utility>

#include "policies/hosts/kernel_time.hpp"

namespace mcsim {
namespace {

constexpr Count kKib = 1024;
constexpr Count kSectorBytes = 512;

bool is_power_of_two(Count value) { return std::has_single_bit(static_cast<std::uint64_t>(value)); }

double percent(Count part, Count whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

absl::StatusOr<std::unique_ptr<System>> Bcache::make(Params params, SystemContext context) {
  if (!is_power_of_two(params.bucket_kib)) {
    return invalid_argument("bucket_kib: must be a power of two, got {}", params.bucket_kib);
  }
  if (!is_power_of_two(params.cache_block_bytes)) {
    return invalid_argument("cache_block_bytes: must be a power of two, got {}",
                            params.cache_block_bytes);
  }
  std::vector<TierSpec>& tiers = context.machine.tiers;
  for (std::size_t k = 1; k < tiers.size(); ++k) {
    tiers[0].capacity_blocks += tiers[k].capacity_blocks;
  }
  if (tiers.size() > 1) tiers.resize(1);
  return std::make_unique<Bcache>(std::move(params), std::move(context));
}

ExpandOptions Bcache::trace_view(ExpandOptions experiment) const {
  experiment.addresses = true;
  experiment.bytes = true;
  return experiment;
}

absl::StatusOr<std::unique_ptr<Host>> Bcache::make_host(const Accesses& trace) {
  const Count block = trace.block_bytes;
  const Count bucket = params_.bucket_kib * kKib;
  if (block % kSectorBytes != 0 || bucket % block != 0) {
    return invalid_argument(
        "bucket_kib: {} KiB is not a multiple of the experiment's blocks of {} B, in sectors of "
        "512 B",
        params_.bucket_kib, block);
  }
  const bool needs_times = params_.sequential_cutoff > 0 || params_.writes == BcacheWrites::kBack;
  MCSIM_RETURN_IF_ERROR(
      check_clock(trace, params_.rate, needs_times ? "which streams and write-back need" : ""));
  bucket_blocks_ = bucket / block;
  const Count capacity = machine_.tiers.front().capacity_blocks;
  const Count buckets = capacity / bucket_blocks_;
  if (buckets < Count{BcacheBuckets::kLeastBuckets}) {
    return invalid_argument(
        "tiers: {} blocks are {} buckets of {} KiB: bcache refuses less than {}, which have no "
        "space for metadata",
        capacity, buckets, params_.bucket_kib, BcacheBuckets::kLeastBuckets);
  }
  if (capacity >= Count{std::numeric_limits<std::uint32_t>::max()}) {
    return invalid_argument("tiers: {} blocks are more than bcache is simulated with", capacity);
  }
  auto host =
      std::make_unique<BcacheHost>(BcacheSetup{.capacity = capacity,
                                               .bucket_bytes = bucket,
                                               .cache_block_bytes = params_.cache_block_bytes,
                                               .writes = params_.writes,
                                               .sequential_cutoff = params_.sequential_cutoff,
                                               .writeback_percent = params_.writeback_percent,
                                               .writeback_delay = params_.writeback_delay.ns,
                                               .is_sync = params_.sync,
                                               .rate = params_.rate},
                                   trace);
  host_ = host.get();
  return host;
}

// Note what the blocks of the device have, and what was written to them.
absl::StatusOr<std::optional<Decision>> Bcache::decide(const Observation&) {
  const BcacheBuckets::Usage usage = host_->usage();
  const Count capacity = machine_.tiers.front().capacity_blocks / bucket_blocks_ * bucket_blocks_;
  const Count priorities = usage.priorities_written * bucket_blocks_;
  return Decision{
      .note = fmt::format("the device has {:.2f} % data, {:.2f} % garbage and {:.2f} % metadata; "
                          "{:.2f} % of the blocks written so far are priorities",
                          percent(usage.data, capacity), percent(usage.garbage, capacity),
                          percent(usage.metadata * bucket_blocks_, capacity),
                          percent(priorities, priorities + usage.blocks_written))};
}

}  // namespace mcsim
