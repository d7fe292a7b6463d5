#include "policies/allocation/exclusive.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/share.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {
namespace {

// Misses for a logarithm: 0 misses count as 0.5.
double misses_at(const RunningCurve& curve, Count blocks) {
  return std::max(0.5, static_cast<double>(curve.accesses() - curve.hits(blocks)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<System>> Exclusive::make(Params params, SystemContext context) {
  const std::size_t tiers = context.machine.tier_count();
  if (tiers > 2) {
    return invalid_argument(
        "needs 1 tier, or 2 (the VMs' memory and the hypervisor's cache), got {}", tiers);
  }
  return make_checked<Exclusive>(std::move(params), std::move(context));
}

std::string Exclusive::prepare(const Observation& seen) {
  const std::vector<double> one_each(seen.vms(), 1.0);
  const Allocation equal = proportional(machine(), one_each);
  sure_.assign(equal.tiers(), {});
  for (std::size_t k = 0; k < equal.tiers(); ++k) {
    for (std::size_t v = 0; v < seen.vms(); ++v) {
      const RunningCurve& curve = curves(seen)[v];
      const Count own = is_own(0) ? equal.at(0, v) : 0;
      if (is_own(k)) {
        sure_[k].push_back(own);
        continue;
      }
      const Count misses = curve.accesses() - curve.hits(in_all_tiers(equal, v));
      const Count allowed = floor_share(1 + params_.delta, misses);
      const Count needed = curve.capacity_for(curve.accesses() - allowed);
      sure_[k].push_back(std::max<Count>(0, needed - own));
    }
  }
  return {};
}

CurveMaximizer::Grid Exclusive::grid(const Stage& stage) const {
  Count rest = stage.capacities.front();
  for (std::size_t v = 0; v < stage.active.size(); ++v) {
    if (stage.active[v]) rest -= sure_[stage.first][v];
  }
  const Count unit = std::max<Count>(1, rest / params_.grid);
  Grid grid;
  for (Count size = 0; size <= rest; size += unit) grid.sizes.push_back(size);
  grid.capacities = {grid.sizes.back()};
  return grid;
}

CurveMaximizer::Bounds Exclusive::bounds(const Observation&, const Stage& stage,
                                         std::size_t vm) const {
  const Count sure = sure_[stage.first][vm];
  if (is_own(stage.first)) return {.least = sure, .most = sure};
  return {.least = sure};
}

double Exclusive::worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t,
                        Count blocks) const {
  const RunningCurve& curve = curves(seen)[vm];
  if (is_own(stage.first) || curve.accesses() == 0) return 0;
  const double ratio =
      misses_at(curve, stage.base[vm] + blocks) / static_cast<double>(curve.accesses());
  return -priorities()[vm] * std::log(ratio);
}

}  // namespace mcsim
