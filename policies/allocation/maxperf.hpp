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
  kExact,    // of the last interval's reuse distances, across its start, as the cache is warm
  kNeville,  // the polynomial through the hit ratios of reads, measured at the last sizes
};

template <>
struct Choices<MaxperfCurve> {
  static constexpr std::array names{std::pair{"exact", MaxperfCurve::kExact},
                                    std::pair{"neville", MaxperfCurve::kNeville}};
};

// Hit ratio by size from the last sizes at which it was measured: the polynomial through these
// points, cut to 0..1, by Neville's scheme. Where that falls on the way from 0 to all blocks it
// is straight lines instead, from no hits with no blocks, level beyond the last point.
class MeasuredCurve {
 public:
  static constexpr std::size_t kPoints = 4;

  // The newest; one of the same size is replaced.
  void add(Count blocks, double ratio);
  // Between which sizes it must rise.
  void settle(Count capacity, Count steps);
  double ratio(Count blocks) const;

 private:
  double polynomial(double blocks) const;
  double lines(double blocks) const;

  std::deque<std::pair<double, double>> points_;  // oldest first
  bool rises_ = false;
};

// Maxperf on one server. Every interval each VM is given the least space with which it has the
// performance that it is promised: the linear program over servers, of which there is one, is
// these sizes. Spare space goes to all in proportion to what a little more of it gains them.
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
                    "between two allocations (0: the experiment's interval); the source is "
                    "silent",
                    0},
              Field{"curve", &Params::curve,
                    "hits by size: of the interval's reuse distances, or as published a "
                    "polynomial through the last sizes that were tried, here 4"},
              Field{"steps", &Params::steps,
                    "a little more is so small a part of all blocks; the source is silent", 1,
                    1'000'000},
              Field{"priorities", &Params::priorities,
                    "whose promises are dropped last, and what gains count for"},
              Field{"resize_mode", &Params::resize_mode,
                    "how parts come to their new targets; the source is silent"},
          },
          LatencyGoals::fields(), DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "maxperf",
      .summary = "Maxperf: least sizes for targets, spare space by marginal gain.",
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
    return params_.with_responses(LatencyModel::read_meters(context_.machine, params_.writes,
                                                            {.scope = DistanceScope::kWarm}));
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  void measure(const Observation& seen);
  // What a little more than so many blocks saves all accesses of the VM.
  double gain(const Observation& seen, std::size_t vm, Count blocks) const;
  // Accesses of a VM in the last interval, at least one.
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
