#include "core/engine/counters.hpp"

namespace mcsim {

absl::Status check_conservation(const VmCounters& span,
                                const std::vector<Count>& occupancy_before) {
  Count found = span.misses;
  for (const TierCounters& tier : span.tiers) found += tier.hits;
  if (found != span.accesses) {
    return internal_error("hits + misses = {}, but there were {} accesses", found, span.accesses);
  }
  for (std::size_t k = 0; k < span.tiers.size(); ++k) {
    const TierCounters& tier = span.tiers[k];
    const Count came = tier.fills + tier.promotions + tier.demotions;
    // A hit below the fastest tier moves the block up.
    const Count moved_up = k == 0 ? 0 : tier.hits;
    const Count moved_down = k + 1 < span.tiers.size() ? span.tiers[k + 1].demotions : 0;
    const Count expected = occupancy_before[k] + came - moved_up - moved_down - tier.evictions;
    if (tier.occupancy != expected) {
      return internal_error("tier {} holds {} blocks, but its counters leave {}", k, tier.occupancy,
                            expected);
    }
  }
  return absl::OkStatus();
}

}  // namespace mcsim
