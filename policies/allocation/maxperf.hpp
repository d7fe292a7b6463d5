#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/latency.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

enum class MaxperfCurve : std::uint8_t {
  kExact,    // by the reuse distances of the last interval, with a warm start
  kNeville,  // the polynomial through the hit ratios of reads, measured at the last sizes
};

template <>
struct Choices<MaxperfCurve> {
  static constexpr std::array names{std::pair{"exact", MaxperfCurve::kExact},
                                    std::pair{"neville", MaxperfCurve::kNeville}};
};

// Hit ratios by size: the polynomial through the last measured points by Neville's scheme, clamped
// to 0..1. If it decreases anywhere, the curve is piecewise linear, constant after the last point.
class MeasuredCurve {
 public:
  static constexpr std::size_t kPoints = 4;

  // Adds the newest point; it replaces one of the same size.
  void add(Count blocks, double ratio);
  // Check at `steps` sizes up to `capacity` whether the polynomial increases.
  void settle(Count capacity, Count steps);
  double ratio(Count blocks) const;

 private:
  double polynomial(double blocks) const;
  double lines(double blocks) const;

  std::deque<std::pair<double, double>> points_;  // the oldest first
  bool rises_ = false;
};

// Maxperf on one server: each VM gets the smallest size that meets its target, to which the linear
// program over servers reduces. Spare space is divided in proportion to marginal gains.
class Maxperf final : public System {
 public:
  struct Params : DataPathParams, LatencyGoals {
    Duration interval{600 * kSecond};
    MaxperfCurve curve = MaxperfCurve::kExact;
    Count steps = 200;
    PerVm priorities;
    ResizeMode resize_mode = ResizeMode::kEager;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"interval", &Params::interval,
                    "time between allocations (0: of the experiment); not specified in publication",
                    0},
              Field{"curve", &Params::curve,
                    "hit ratios by size: from the reuse distances of the interval (exact), or as "
                    "published a polynomial through the last sizes in use, here 4 (neville)"},
              Field{"steps", &Params::steps,
                    "marginal gains are of 1 / steps of all blocks; not specified in publication",
                    1, 1'000'000},
              Field{"priorities", &Params::priorities,
                    "priority of each VM: weight of its gain, and low priorities lose their "
                    "targets first; not specified in the publication"},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions change to new targets: shrink at once (eager), evict only when "
                    "the tier is full (lazy), or evict their own blocks when they insert "
                    "(strict-own); not specified in the publication"},
          },
          LatencyGoals::fields(), DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "maxperf",
      .summary = "Meets latency targets with minimal sizes, then divides spare space (Maxperf).",
      .reference =
          "Prabhakar, Srikantaiah, Patrick, Kandemir: Dynamic Storage Cache Allocation in "
          "Multi-server Architectures, SC 2009"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<Maxperf>(std::move(params), std::move(context));
  }
  Maxperf(const Params& params, SystemContext context)
      : params_(params), context_(std::move(context)) {
    if (params_.interval.ns == 0) params_.interval.ns = context_.interval;
  }

  std::vector<Timer> timers() const override {
    return {{.name = "sizes", .clock = {.period = params_.interval.ns}}};
  }
  std::vector<Meter> meters() const override {
    if (params_.curve == MaxperfCurve::kNeville) return params_.with_responses({});
    return params_.with_responses(
        LatencyModel::read_meters(context_.machine, params_, {.scope = DistanceScope::kWarm}));
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  void measure(const Observation& seen);
  // Return the latency that a small extension saves all accesses of the VM.
  double gain(const Observation& seen, std::size_t vm, Count blocks) const;
  // Return the mix of a VM's accesses in the last interval, at least one access.
  auto mix(const Observation& seen, std::size_t vm) const {
    const VmCounters& of = seen.since[vm];
    const double writes = static_cast<double>(of.writes) / static_cast<double>(of.accesses);
    return AccessMix{writes, [this, &seen, vm](Count blocks) {
                       if (params_.curve == MaxperfCurve::kNeville)
                         return measured_[vm].ratio(blocks);
                       return latency_.read_curve(seen, vm).ratio(blocks);
                     }};
  }

  Params params_;
  SystemContext context_;
  std::vector<VmInfo> vms_;
  LatencyModel latency_;
  std::vector<double> priorities_;       // by VM
  std::vector<MeasuredCurve> measured_;  // by VM
};

}  // namespace mcsim
