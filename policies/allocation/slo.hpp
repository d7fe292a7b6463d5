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

// Every interval, each VM gets the smallest size that meets its target of latency or of accesses
// per second. LatencyModel predicts the latency from the VM's curve and the write mode in force.
// The leftover minimises the sum of mean latencies. VMs that miss their targets with all blocks are
// reported. Since the last interval's curve may mispredict the next one, `correction` lowers the
// target to L / (1 + correction · e). There e accumulates the measured latency over L, minus 1, and
// is never below 0.
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
                    "weight of a VM's latency in the sum: 1 (ratio), or its accesses (rate); not "
                    "specified in the publication"},
              Field{"correction", &Params::correction,
                    "strength of the correction by the accumulated relative excess of the measured "
                    "latency (0: none); not specified in the publication",
                    0},
              Field{"distance_scope", &Params::distance_scope,
                    "accesses that the reuse distances cover: of the interval, of all so far, or "
                    "of the interval after a warm start; not specified in the publication"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "slo",
      .summary =
          "Meets latency or IOPS targets with minimal sizes; the rest minimises the mean latency.",
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
  // Return the corrected target of a VM. An unreachable target is not lowered below the latency
  // with all blocks.
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
