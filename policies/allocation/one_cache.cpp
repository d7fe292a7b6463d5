#include "policies/allocation/one_cache.hpp"

#include <algorithm>

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> OneCacheMaximizer::make_host(const Accesses& trace) {
  vms_ = trace.vms;
  MCSIM_ASSIGN_OR_RETURN(latency_, LatencyModel::make(machine(), vms_, writes_));
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

std::vector<Meter> OneCacheMaximizer::latency_meters(DistanceScope scope) const {
  const CurveMeter reads{.ops = OpFilter::kReads, .scope = scope};
  return with_around({{.what = CurveMeter{.scope = scope}}, {.what = reads, .name = "read curve"}});
}

double OneCacheMaximizer::mean_ns(const Observation& seen, std::size_t vm, Count blocks) const {
  return latency_.mean_ns(vm, blocks, mix(seen, vm));
}

Promises OneCacheMaximizer::promise(const Observation& seen,
                                    std::span<const double> wanted_ns) const {
  Promises promises(latency_, vms_);
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    if (curves(seen)[v].accesses() > 0) promises.promise(v, wanted_ns[v], mix(seen, v));
  }
  return promises;
}

}  // namespace mcsim
