#pragma once

#include <string>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A device as the latency and cost models see it.
struct Device {
  std::string name;
  double read_ns = 0;
  double write_ns = 0;
  double dollars_per_gb = 0;
};

struct TierSpec {
  Device device;
  Count capacity_blocks = 0;
};

// The host a system runs on: tiers from fastest to slowest, then the backend
// that has everything.
struct Machine {
  std::vector<TierSpec> tiers;
  Device backend;

  std::size_t tier_count() const { return tiers.size(); }
};

}  // namespace mcsim
