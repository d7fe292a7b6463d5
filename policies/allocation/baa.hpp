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

// Compute the throughputs that bottleneck-aware allocation gives to clients with these hit ratios.
// `fast` and `slow` are the requests per second that the two devices serve. The fair share of a
// client is its throughput with an equal part of both devices. Clients limited by the slow device
// get a multiple of their fair shares; clients limited by the fast device get another multiple.
// Both multiples are at least 1. They maximise the sum of the throughputs, subject to the capacity
// of the devices and to envy-freeness: no client would gain by another client's device time.
std::vector<double> bottleneck_aware(std::span<const double> hit_ratios, double fast, double slow);

// Bottleneck-aware allocation: a share of device time for each VM, from its hit ratio in a shared
// cache. The replay has no device time, so a decision changes nothing. It reports the throughput of
// each VM in blocks per second, from the hit ratios of the last period, and their sum as the
// objective. VMs without accesses have throughput 0.
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
                    "time between two allocations (0: the interval of the experiment); not "
                    "specified in the publication",
                    0},
              Field{"fast_iops", &Params::fast_iops,
                    "blocks per second that the cache serves (0: the rate of the first tier's "
                    "device)",
                    0},
              Field{"slow_iops", &Params::slow_iops,
                    "blocks per second that the backend serves (0: the rate of its device)", 0},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "baa",
      .summary =
          "Computes a throughput for each VM of a shared cache over a disk, by bottleneck-aware "
          "allocation.",
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
