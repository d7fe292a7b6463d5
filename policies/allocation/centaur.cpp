#include "policies/allocation/centaur.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> Centaur::make_host(const Accesses& trace) {
  MCSIM_RETURN_IF_ERROR(params_.wanted_ns(trace.vms).status());
  MCSIM_ASSIGN_OR_RETURN(shares_, per_vm("shares", params_.shares, trace.vms, 1));
  return OneCacheMaximizer::make_host(trace);
}

std::string Centaur::prepare(const Observation& seen) {
  if (params_.baseline == CentaurBaseline::kEci) return largest_distances(seen);
  const bool least_size = params_.objective == CentaurObjective::kLeastSize;
  Promises promises = promise(seen, params_.wanted_ns(vms(), seen));
  for (std::size_t v = 0; v < seen.vms() && least_size; ++v) {
    promises.least[v] = std::max(promises.least[v], least_for_misses(curves(seen)[v]));
  }
  const std::vector<Count> asked = promises.least;
  promises.fit(priorities());
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    const bool kept = promises.least[v] == asked[v];
    bounds_[v] = {.least = promises.least[v], .most = capacity()};
    if (least_size && kept) bounds_[v].most = asked[v];
  }
  if (params_.objective == CentaurObjective::kLatencyShares) share_latency(seen);
  return promises.infeasible;
}

// ECI-Cache compares itself with a Centaur that treats all accesses as reads.
double Centaur::worth(const Observation& seen, const Stage&, std::size_t vm, std::size_t,
                      Count blocks) const {
  if (params_.baseline == CentaurBaseline::kNone) {
    return -weight(seen, vm) * mean_ns(seen, vm, blocks);
  }
  const RunningCurve& all = curves(seen)[vm];
  return -weight(seen, vm) *
         latency().mean_read_ns(vm, blocks, [&](Count held) { return all.ratio(held); });
}

std::string Centaur::largest_distances(const Observation& seen) {
  Count all = 0;
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    const Count needed = curves(seen)[v].saturation();
    bounds_[v] = {.least = needed, .most = needed};
    all += needed;
  }
  if (all <= capacity()) return {};
  bounds_.assign(seen.vms(), {.least = 0, .most = capacity()});
  return fmt::format("the largest reuse distances need {} blocks of {}", all, capacity());
}

Count Centaur::least_for_misses(const RunningCurve& curve) const {
  const double misses = 1 - curve.ratio(capacity()) + params_.miss_tolerance;
  Count least = 0;
  for (Count most = capacity(); least < most;) {
    const Count middle = least + (most - least) / 2;
    const bool enough = 1 - curve.ratio(middle) <= misses;
    (enough ? most : least) = enough ? middle : middle + 1;
  }
  return least;
}

// Choose the sizes of the smallest κ that fits. A VM that cannot reach its latency κ / s_v gets the
// smallest size at which its latency is minimal.
void Centaur::share_latency(const Observation& seen) {
  const auto sizes = [&](double kappa) {
    std::vector<Count> of_vm(seen.vms(), 0);
    for (std::size_t v = 0; v < of_vm.size(); ++v) {
      if (curves(seen)[v].accesses() == 0) continue;
      of_vm[v] = std::max(bounds_[v].least, size_for(seen, v, kappa / shares_[v]));
    }
    return of_vm;
  };
  double low = 0;
  double high = 0;
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    high = std::max(high, shares_[v] * mean_ns(seen, v, 0));
  }
  constexpr int kSteps = 60;  // more than the digits of a double
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (low + high) / 2;
    const std::vector<Count> needed = sizes(middle);
    const bool fits = std::accumulate(needed.begin(), needed.end(), Count{0}) <= capacity();
    (fits ? high : low) = middle;
  }
  const std::vector<Count> chosen = sizes(high);
  for (std::size_t v = 0; v < chosen.size(); ++v) bounds_[v] = {chosen[v], chosen[v]};
}

Count Centaur::size_for(const Observation& seen, std::size_t vm, double wanted_ns) const {
  const double best = mean_ns(seen, vm, capacity());
  return latency().least_for(std::max(wanted_ns, best), vm, mix(seen, vm));
}

}  // namespace mcsim
