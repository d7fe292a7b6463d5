#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// Every interval, each tier is divided in proportion to the VMs' reuse intensities of the last
// interval. Targets stay unchanged while all intensities are 0. A full tier evicts from the VM that
// is most above its target.
class RiShares final : public System {
 public:
  struct Params : DataPathParams {
    Duration interval{100 * kSecond};
    IntensityKind intensity = IntensityKind::kShare;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"interval", &Params::interval,
                    "time between two divisions, and the window of reuse intensity (0: the "
                    "interval of the experiment)",
                    0},
              Field{"intensity", &Params::intensity,
                    "reuse intensity: share of repeated accesses, or accesses per distinct block "
                    "and second (as in vCacheShare)"},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "ri-shares",
      .summary = "Divides each tier in proportion to the VMs' reuse intensities.",
      .reference = "Weighted LRU, a baseline in the code of Multi-Cache (IC2E 2016)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<RiShares>(std::move(params), std::move(context));
  }
  RiShares(const Params& params, SystemContext context)
      : params_(params), context_(std::move(context)) {
    if (params_.interval.ns == 0) params_.interval.ns = context_.interval;
  }

  std::vector<Timer> timers() const override {
    return {{.name = "shares", .clock = {.period = params_.interval.ns}}};
  }
  std::vector<Meter> meters() const override {
    return {{.what = IntensityMeter{.kind = params_.intensity, .window = params_.interval}}};
  }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    const std::vector<double> equal(trace.vms.size(), 1.0);
    const Division division =
        one_part_each(proportional(context_.machine, equal),
                      {.mode = ResizeMode::kLazy, .victim = VictimRule::kMostOver});
    return make_data_path(params_, context_.machine, trace, division, context_.seed);
  }

  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    std::vector<double> intensities;
    for (const Intensity& of_vm : seen.meter("intensity").intensities) {
      intensities.push_back(of_vm.value);
    }
    if (std::ranges::max(intensities) <= 0) return std::nullopt;
    return Decision{.targets = proportional(context_.machine, intensities)};
  }

 private:
  Params params_;
  SystemContext context_;
};

}  // namespace mcsim
