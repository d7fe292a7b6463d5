#include "policies/allocation/multicache_joint.hpp"

#include <algorithm>
#include <vector>

namespace mcsim {

CurveMaximizer::Grid MultiCacheJoint::grid(const Stage& stage) const {
  const Count smallest = *std::ranges::min_element(stage.capacities);
  const Count unit = std::max<Count>(1, smallest / params_.grid);
  Grid grid;
  Count together = 0;
  for (const Count capacity : stage.capacities) {
    grid.capacities.push_back(capacity / unit * unit);
    together += grid.capacities.back();
  }
  for (Count size = 0; size <= together; size += unit) grid.sizes.push_back(size);
  return grid;
}

double MultiCacheJoint::worth(const Observation& seen, const Stage&, std::size_t vm,
                              std::size_t tier, Count blocks) const {
  return weight(seen, vm) * tier_gain(tier) * curves(seen)[vm].ratio(blocks);
}

double MultiCacheJoint::tier_gain(std::size_t tier) const {
  const auto latency = [&](std::size_t k) {
    return k < machine().tiers.size() ? machine().tiers[k].device.read_ns
                                      : machine().backend.read_ns;
  };
  if (params_.objective == JointObjective::kLatency) return latency(tier + 1) - latency(tier);
  const double backend = machine().backend.read_ns;
  const double next = tier + 1 < machine().tiers.size() ? backend / latency(tier + 1) : 0;
  return backend / latency(tier) - next;
}

}  // namespace mcsim
