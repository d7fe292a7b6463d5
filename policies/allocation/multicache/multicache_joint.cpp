#include "policies/allocation/multicache/multicache_joint.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "policies/allocation/best_division.hpp"

namespace mcsim {
namespace {

// Maximum number of sizes of a VM, in all tiers together.
constexpr Count kMostSizes = 1 << 21;

// Return the unit, in blocks, into which tiers of these capacities are divided.
Count unit_of(std::span<const Count> capacities, Count grid) {
  return std::max<Count>(1, *std::ranges::min_element(capacities) / grid);
}

}  // namespace

absl::StatusOr<std::unique_ptr<System>> MultiCacheJoint::make(Params params,
                                                              SystemContext context) {
  std::vector<Count> capacities;
  for (const TierSpec& tier : context.machine.tiers) capacities.push_back(tier.capacity_blocks);
  const Count unit = capacities.empty() ? 1 : unit_of(capacities, params.grid);
  Count sizes = 0;
  for (const Count capacity : capacities) sizes += capacity / unit;
  if (sizes > kMostSizes) {
    return invalid_argument(
        "grid: units of {} blocks, by the smallest tier, make {} units of all tiers; at most {} "
        "can be solved: use a smaller grid or tiers of more similar sizes",
        unit, sizes, kMostSizes);
  }
  return make_checked<MultiCacheJoint>(std::move(params), std::move(context));
}

CurveMaximizer::Grid MultiCacheJoint::grid(const Stage& stage) const {
  const Count unit = unit_of(stage.capacities, params_.grid);
  Grid grid;
  Count together = 0;
  for (const Count capacity : stage.capacities) {
    grid.capacities.push_back(capacity / unit * unit);
    together += grid.capacities.back();
  }
  for (Count size = 0; size <= together; size += unit) grid.sizes.push_back(size);
  return grid;
}

std::vector<Meter> MultiCacheJoint::meters() const {
  std::vector<Meter> meters{{.what = CurveMeter{}}};
  if (params_.objective == JointObjective::kLatency) {
    meters.push_back({.what = curve_for(HitWorth::kLatency, {}), .name = "read curve"});
  }
  return with_around(std::move(meters));
}

double MultiCacheJoint::worth(const Observation& seen, const Stage&, std::size_t vm,
                              std::size_t tier, Count blocks) const {
  const RunningCurve& all = curves(seen)[vm];
  const bool latency = params_.objective == JointObjective::kLatency;
  const RunningCurve& counted = latency ? seen.meter("read curve").curves[vm] : all;
  const double ratio =
      static_cast<double>(counted.hits(blocks)) / static_cast<double>(all.accesses());
  return weight(seen, vm) * tier_gain(tier) * ratio;
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
