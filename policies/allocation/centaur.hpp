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
  kLatency,        // the least sum of mean latencies
  kLeastSize,      // the least space that keeps the promises
  kLatencyShares,  // latencies in inverse proportion to shares
};

template <>
struct Choices<CentaurObjective> {
  static constexpr std::array names{std::pair{"latency", CentaurObjective::kLatency},
                                    std::pair{"least-size", CentaurObjective::kLeastSize},
                                    std::pair{"latency-shares", CentaurObjective::kLatencyShares}};
};

// As what it is compared with.
enum class CentaurBaseline : std::uint8_t {
  kNone,
  kEci,  // the largest reuse distance + 1 for each VM; if that is too much, the least latency
};

template <>
struct Choices<CentaurBaseline> {
  static constexpr std::array names{std::pair{"none", CentaurBaseline::kNone},
                                    std::pair{"eci", CentaurBaseline::kEci}};
};

// Centaur: every interval the cache is divided by the VMs' miss ratio curves. Each VM first gets
// the least size that keeps its promise of latency or, by Little's law, of accesses a second. The
// prediction follows the write mode in force (LatencyModel). The leftover serves the objective.
// With latency shares, the mean latency of VM v is κ / s_v, for the least κ that fits into the
// cache; it is found by bisection. Writes are written back.
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
              Field{"objective", &Params::objective, "what the space that is left is for"},
              Field{"weight", &Params::weight,
                    "of latencies: 1 for each VM, or its accesses; the source is silent"},
              Field{"shares", &Params::shares,
                    "of latency-shares: how much shorter a VM waits; one not named counts 1"},
              Field{"miss_tolerance", &Params::miss_tolerance,
                    "of least-size: how much higher a miss ratio may be than with all blocks (1: "
                    "promises alone count); the source is silent",
                    0, 1},
              Field{"baseline", &Params::baseline,
                    "as ECI-Cache compares itself with it: the largest distance + 1, or if that "
                    "does not fit the least latency; no promises, nothing beyond"},
              Field{"distance_scope", &Params::distance_scope,
                    "what an access finds in the cache; the source is silent"},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "centaur",
      .summary = "Centaur: cache sizes for latency, IOPS or shares by miss ratio curves.",
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
