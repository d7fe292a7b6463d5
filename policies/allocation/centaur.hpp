#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/one_cache.hpp"

namespace mcsim {

enum class CentaurObjective : std::uint8_t {
  kLatency,        // minimise the sum of mean latencies
  kLeastSize,      // minimise the space that meets all targets
  kLatencyShares,  // latencies inversely proportional to shares
};

template <>
struct Choices<CentaurObjective> {
  static constexpr std::array names{std::pair{"latency", CentaurObjective::kLatency},
                                    std::pair{"least-size", CentaurObjective::kLeastSize},
                                    std::pair{"latency-shares", CentaurObjective::kLatencyShares}};
};

// A variant that another publication compares itself with.
enum class CentaurBaseline : std::uint8_t {
  kNone,
  kEci,  // largest reuse distance + 1 for each VM; if too large, minimum latency
};

template <>
struct Choices<CentaurBaseline> {
  static constexpr std::array names{std::pair{"none", CentaurBaseline::kNone},
                                    std::pair{"eci", CentaurBaseline::kEci}};
};

// Centaur: divides the cache every interval by the VMs' miss ratio curves. Each VM first gets the
// smallest size that meets its target of latency or, by Little's law, of accesses per second. The
// prediction follows the write mode in force (LatencyModel). The leftover serves the objective.
// With latency shares, the mean latency of VM v is κ / s_v; bisection finds the smallest κ that
// fits into the cache. Writes are write-back.
class Centaur final : public OneCacheMaximizer {
 public:
  struct Params : OneCacheMaximizer::Params, LatencyGoals {
    CentaurObjective objective = CentaurObjective::kLatency;
    PerVm shares;
    double miss_tolerance = 0;
    CentaurBaseline baseline = CentaurBaseline::kNone;
    DistanceScope distance_scope = DistanceScope::kInterval;

    Params() {
      rd_interval = {300 * kSecond};
      writes = "back";
    }
    static constexpr auto fields() {
      return std::tuple_cat(
          OneCacheMaximizer::Params::fields(), LatencyGoals::fields(),
          std::tuple{
              Field{"objective", &Params::objective,
                    "use of the leftover space: minimise the sum of mean latencies, leave it free, "
                    "or make latencies inversely proportional to `shares`"},
              Field{"weight", &Params::weight,
                    "weight of a VM's latency in the sum: 1 (ratio), or its accesses (rate); not "
                    "specified in the publication"},
              Field{"shares", &Params::shares,
                    "with objective latency-shares: latency of a VM is inversely proportional to "
                    "its share; a VM not named has share 1"},
              Field{"miss_tolerance", &Params::miss_tolerance,
                    "with objective least-size: allowed increase of a VM's miss ratio over its "
                    "miss ratio with all blocks, between 0 and 1 (1: only targets count); not "
                    "specified in the publication",
                    0, 1},
              Field{"baseline", &Params::baseline,
                    "`eci`: Centaur in the form that ECI-Cache compares itself with: each VM gets "
                    "its largest reuse distance + 1, or if these do not fit the sum of latencies "
                    "is minimised; targets are ignored and leftover space stays free"},
              Field{"distance_scope", &Params::distance_scope,
                    "accesses that the reuse distances cover: of the interval, of all so far, or "
                    "of the interval after a warm start; not specified in the publication"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "centaur",
      .summary =
          "Sizes each VM's cache for latency, IOPS or latency shares, by miss ratio curves "
          "(Centaur).",
      .reference =
          "Koller, Mashtizadeh, Rangaswami: Centaur: Host-side SSD Caching for Storage "
          "Performance Control, ICAC 2015"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<Centaur>(std::move(params), std::move(context));
  }
  Centaur(const Params& params, SystemContext context)
      : OneCacheMaximizer(kInfo.name, params, std::move(context),
                          params.objective == CentaurObjective::kLatency &&
                                  params.baseline == CentaurBaseline::kNone
                              ? Leftover::kSpread
                              : Leftover::kStay),
        params_(params) {}

  std::vector<Meter> meters() const override {
    return params_.with_responses(latency_meters(params_.distance_scope));
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;

 protected:
  std::string prepare(const Observation& seen) override;
  double worth(const Observation& seen, const Stage&, std::size_t vm, std::size_t,
               Count blocks) const override;

 private:
  std::string largest_distances(const Observation& seen);
  Count least_for_misses(const RunningCurve& curve) const;
  void share_latency(const Observation& seen);
  Count size_for(const Observation& seen, std::size_t vm, double wanted_ns) const;

  Params params_;
  std::vector<double> shares_;  // by VM
};

}  // namespace mcsim
