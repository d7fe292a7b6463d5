// The checks of check_conservation, declared in counters.hpp.
#include "core/engine/model/counters.hpp"

#include <numeric>

namespace mcsim {
namespace {

Count sum(const std::array<Count, kMaxTiers + 1>& counts) {
  return std::accumulate(counts.begin(), counts.end(), Count{0});
}

absl::Status check_accesses(const VmCounters& span) {
  const Count from_no_device = span.staged_hits + span.delayed_hits;
  Count found = span.misses + from_no_device;
  Count written = span.write_misses;
  for (const TierCounters& tier : span.tiers) {
    found += tier.hits;
    written += tier.write_hits;
  }
  if (found != span.accesses) {
    return internal_error("hits + misses = {}, but there were {} accesses", found, span.accesses);
  }
  if (written != span.writes) {
    return internal_error("hits + misses of writes = {}, but there were {}", written, span.writes);
  }
  const Count reads = sum(span.reads_served.blocks) + from_no_device;
  const Count writes = sum(span.writes_served.blocks);
  if (reads != span.accesses - span.writes || writes != span.writes) {
    return internal_error("{} reads and {} writes were served of {} accesses, {} writes", reads,
                          writes, span.accesses, span.writes);
  }
  return absl::OkStatus();
}

absl::Status check_requests(const VmCounters& span) {
  const Count served = sum(span.reads_served.requests) + sum(span.writes_served.requests) +
                       span.staged_requests + span.delayed_requests;
  if (served != span.requests) {
    return internal_error("{} requests were served of {}", served, span.requests);
  }
  if (span.request_hits > span.requests) {
    return internal_error("{} of {} requests hit", span.request_hits, span.requests);
  }
  return absl::OkStatus();
}

absl::Status check_sent(const VmCounters& before, const VmCounters& span) {
  const Count ended = span.transferred + span.on_demand + span.left_behind;
  if (before.on_the_way + span.sent - ended != span.on_the_way) {
    return internal_error("{} blocks are on the way, but {} were, {} were sent and of {} it ended",
                          span.on_the_way, before.on_the_way, span.sent, ended);
  }
  Count remote = 0;
  Count came = 0;
  for (const TierCounters& tier : span.tiers) {
    remote += tier.remote_reads;
    came += tier.transfers;
  }
  if (remote != span.on_demand) {
    return internal_error("{} reads were remote, but {} blocks came on demand", remote,
                          span.on_demand);
  }
  if (came < span.transferred + span.on_demand) {
    return internal_error("{} blocks came over, but tiers counted {}",
                          span.transferred + span.on_demand, came);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_conservation(const VmCounters& before, const VmCounters& now) {
  const VmCounters span = now.since(before);
  MCSIM_RETURN_IF_ERROR(check_accesses(span));
  MCSIM_RETURN_IF_ERROR(check_requests(span));
  for (std::size_t k = 0; k < span.tiers.size(); ++k) {
    const TierCounters& tier = span.tiers[k];
    const Count came = tier.fills + tier.promotions + tier.demotions;
    const Count left = tier.moved_up + tier.moved_down + tier.evictions + tier.invalidations;
    const Count expected = before.tiers[k].occupancy + came - left;
    if (tier.occupancy != expected) {
      return internal_error("tier {} holds {} blocks, but its counters leave {}", k, tier.occupancy,
                            expected);
    }
    const Count unread = before.tiers[k].prefetch_unread + tier.prefetched - tier.prefetch_used -
                         tier.prefetch_wasted;
    if (tier.prefetch_unread != unread) {
      return internal_error("tier {} has {} unread prefetched blocks, but its counters leave {}", k,
                            tier.prefetch_unread, unread);
    }
  }
  if (before.dirty + span.dirtied - span.write_backs - span.discarded_dirty != span.dirty) {
    return internal_error(
        "{} blocks are dirty, but {} were, {} became so, {} were written back and {} discarded",
        span.dirty, before.dirty, span.dirtied, span.write_backs, span.discarded_dirty);
  }
  return check_sent(before, span);
}

}  // namespace mcsim
