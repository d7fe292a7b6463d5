#include "policies/allocation/one_cache.hpp"

#include <algorithm>

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> OneCacheMaximizer::make_host(const Accesses& trace) {
  vms_ = trace.vms;
  latency_ = LatencyModel(machine(), vms_);
  bounds_.assign(vms_.size(), {});
  return CurveMaximizer::make_host(trace);
}

CurveMaximizer::Grid OneCacheMaximizer::grid(const Stage& stage) const {
  Count rest = stage.capacities.front();
  for (std::size_t v = 0; v < bounds_.size(); ++v) {
    if (stage.active[v]) rest -= bounds_[v].least;
  }
  const Count unit = std::max<Count>(1, rest / steps_);
  Grid grid;
  for (Count size = 0; size <= rest; size += unit) grid.sizes.push_back(size);
  grid.capacities = {grid.sizes.back()};
  return grid;
}

double OneCacheMaximizer::mean_ns(const Observation& seen, std::size_t vm, Count blocks) const {
  const RunningCurve& curve = curves(seen)[vm];
  return latency_.mean_ns(vm, blocks, [&](Count held) { return curve.ratio(held); });
}

Promises OneCacheMaximizer::promise(const Observation& seen,
                                    std::span<const double> wanted_ns) const {
  Promises promises(latency_, vms_);
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    const RunningCurve& curve = curves(seen)[v];
    if (curve.accesses() == 0) continue;
    promises.promise(v, wanted_ns[v], [&](Count held) { return curve.ratio(held); });
  }
  return promises;
}

}  // namespace mcsim
