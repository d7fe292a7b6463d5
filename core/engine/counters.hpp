#pragma once

#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// What happened to one VM in one tier. `hits` of tier k are accesses
// found there; an access found nowhere is a miss of the VM.
struct TierCounters {
  Count hits = 0;
  Count fills = 0;       // blocks that came from the backend into this tier
  Count promotions = 0;  // blocks that came up into this tier from a slower one
  Count demotions = 0;   // blocks that came down into this tier from the faster one
  Count evictions = 0;   // blocks that left the host from this tier
  Count occupancy = 0;   // blocks held at the end
  Count target = 0;      // blocks granted at the end; the capacity where nothing is divided

  // Writes to the tier's device.
  Count device_writes() const { return fills + promotions + demotions; }
};

struct VmCounters {
  Count accesses = 0;
  Count misses = 0;
  std::vector<TierCounters> tiers;
};

// The laws of one VM's counters over a span of replay that began with the given
// occupancies: hits + misses = accesses; every block that came is still there,
// moved on, or left.
absl::Status check_conservation(const VmCounters& span, const std::vector<Count>& occupancy_before);

}  // namespace mcsim
