#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/one_cache.hpp"

namespace mcsim {

// Every interval each VM gets the least space that keeps its promise of latency, or of accesses a
// second. The prediction is that of LatencyModel, by the VM's curve and the write mode in force.
// The leftover minimises the sum of mean latencies. A VM whose promise needs more than all blocks
// is named. The curve may be wrong about the time to come: with `correction` the target is L / (1 +
// correction · e). There e accumulates the measured latency over L, minus 1, and is never below 0.
class Slo final : public OneCacheMaximizer {
 public:
  struct Params : OneCacheMaximizer::Params, LatencyGoals {
    double correction = 0;
    DistanceScope distance_scope = DistanceScope::kWarm;

    static constexpr auto fields() {
      return std::tuple_cat(
          OneCacheMaximizer::Params::fields(), LatencyGoals::fields(),
          std::tuple{
              Field{"weight", &Params::weight,
                    "of latencies: 1 for each VM, or its accesses; the source is silent"},
              Field{"correction", &Params::correction,
                    "how much of what was missed so far is made up for in an interval (0: none); "
                    "the source is silent",
                    0},
              Field{"distance_scope", &Params::distance_scope,
                    "what an access finds in the cache: warm, as it will be; the source is silent"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "slo",
      .summary = "Least space for latency or IOPS targets, the rest for the least mean latency.",
      .reference =
          "Ahmad: talk on miss ratio curves, SNIA Storage Developer Conference 2015 (its "
          "application to latency targets)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<Slo>(std::move(params), std::move(context));
  }
  Slo(const Params& params, SystemContext context)
      : OneCacheMaximizer(kInfo.name, params, std::move(context), Leftover::kSpread),
        params_(params) {}

  std::vector<Meter> meters() const override {
    return params_.with_responses(latency_meters(params_.distance_scope));
  }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    MCSIM_RETURN_IF_ERROR(params_.wanted_ns(trace.vms).status());
    missed_.assign(trace.vms.size(), 0);
    return OneCacheMaximizer::make_host(trace);
  }

 protected:
  std::string prepare(const Observation& seen) override {
    std::vector<double> aimed_ns = params_.wanted_ns(vms(), seen);
    for (std::size_t v = 0; v < seen.vms(); ++v) aimed_ns[v] = aimed(seen, v, aimed_ns[v]);
    Promises promises = promise(seen, aimed_ns);
    promises.fit(priorities());
    for (std::size_t v = 0; v < seen.vms(); ++v) {
      bounds_[v] = {.least = promises.least[v], .most = capacity()};
    }
    return promises.infeasible;
  }

  double worth(const Observation& seen, const Stage&, std::size_t vm, std::size_t,
               Count blocks) const override {
    return -weight(seen, vm) * mean_ns(seen, vm, blocks);
  }

 private:
  // What is aimed at so that the VM has what it wants. What can be had is not given up for what
  // cannot.
  double aimed(const Observation& seen, std::size_t vm, double wanted) {
    if (params_.correction == 0 || std::isinf(wanted) || seen.since[vm].accesses == 0) {
      return wanted;
    }
    const double measured = mcsim::mean_ns(seen.since[vm], machine(), vms()[vm].name);
    missed_[vm] = std::max(0.0, missed_[vm] + measured / wanted - 1);
    const double aim = wanted / (1 + params_.correction * missed_[vm]);
    return std::min(wanted, std::max(aim, mean_ns(seen, vm, capacity())));
  }

  Params params_;
  std::vector<double> missed_;  // by VM: e
};

}  // namespace mcsim
