#pragma once

#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

// The throughputs that bottleneck-aware allocation gives to clients with these hit ratios, of a
// fast device and a slow one that serve so many requests a second. Each client's fair share is
// what it would have with an equal part of both. Clients whom the slow device limits get so many
// times their fair shares, those whom the fast one limits so many times theirs, each at least
// once and as many times as fit, so that all throughputs together are most and nobody would
// rather have the devices' time that another has.
std::vector<double> bottleneck_aware(std::span<const double> hit_ratios, double fast, double slow);

// Bottleneck-aware allocation: who gets how much of the devices' time, by the hit ratios of a
// shared cache. Time is not replayed here: each decision has the throughputs of the VMs, in blocks
// a second, by the hit ratios of the last period, and their sum as its objective. VMs that had no
// accesses have no share.
class Baa final : public System {
 public:
  struct Params : DataPathParams {
    Duration period{0};
    double fast_iops = 0;
    double slow_iops = 0;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"period", &Params::period,
                    "between two allocations (0: the experiment's interval); the source is silent",
                    0},
              Field{"fast_iops", &Params::fast_iops,
                    "blocks a second of the tiers together (0: those of the first device)", 0},
              Field{"slow_iops", &Params::slow_iops,
                    "blocks a second of the backend (0: those of the device)", 0},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "baa",
      .summary = "Bottleneck-aware allocation: throughput by VM of a shared cache over a disk.",
      .reference =
          "Wang, Varman: Balancing fairness and efficiency in tiered storage systems with "
          "bottleneck-aware allocation, FAST 2014"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  Baa(Params params, SystemContext context);

  std::vector<Timer> timers() const override {
    return {{.name = "throughput", .clock = {.period = period_}}};
  }
  Actions actions() const override { return {}; }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  Params params_;
  SystemContext context_;
  Nanoseconds period_;
  double block_bytes_ = 0;
};

}  // namespace mcsim
