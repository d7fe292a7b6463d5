#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/params.hpp"
#include "core/engine/system.hpp"
#include "policies/allocation/multicache.hpp"
#include "policies/hosts/data_path.hpp"

namespace mcsim {

enum class JointObjective : std::uint8_t {
  kRatio,    // Multi-Cache's: hit ratios weighted by l_backend / l_tier
  kLatency,  // mean latency saved
};

template <>
struct Choices<JointObjective> {
  static constexpr std::array names{std::pair{"ratio", JointObjective::kRatio},
                                    std::pair{"latency", JointObjective::kLatency}};
};

// What Multi-Cache approximates tier by tier, solved for all tiers at once:
// with z_k the blocks a VM holds in tiers 0..k, its utility is
// Σ_k a_k · H(z_k), where a_k is what a hit gains from being in tier k rather
// than in the next slower one. On concave curves both give the same worth.
class MultiCacheJoint final : public System {
 public:
  struct Params : DataPathParams {
    Duration rd_interval{0};
    JointObjective objective = JointObjective::kRatio;
    UtilityWeight weight = UtilityWeight::kRatio;
    PerVm priorities;
    ResizeMode resize_mode = ResizeMode::kLazy;
    Count grid = 20;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              Field{"rd_interval", &Params::rd_interval,
                    "between two allocations, and what reuse distances cover (0: the experiment's "
                    "interval)",
                    0},
              Field{"objective", &Params::objective,
                    "Multi-Cache's utility, or the mean latency that hits save"},
              Field{"weight", &Params::weight, "what a VM's hit ratio counts for"},
              Field{"priorities", &Params::priorities, "weight of each VM; one not named counts 1"},
              Field{"resize_mode", &Params::resize_mode,
                    "how partitions come to their new targets"},
              Field{"grid", &Params::grid, "units in the smallest tier", 1, 100'000},
          },
          DataPathParams::fields());
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "multicache-joint",
      .summary =
          "Multi-Cache's utility maximised over all tiers at once: the layered "
          "heuristic's yardstick.",
      .reference = "Joint formulation of Multi-Cache (IC2E 2016)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context) {
    return make_checked<MultiCacheJoint>(std::move(params), std::move(context));
  }
  MultiCacheJoint(Params params, SystemContext context);

  std::optional<ProfileSpec> profile() const override;
  std::optional<std::string> default_optimizer() const override { return "exact"; }
  absl::Status use_optimizer(std::shared_ptr<Optimizer> optimizer) override;
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override;
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override;

 private:
  AllocationProblem problem_for(const Observation& seen, const std::vector<bool>& active) const;
  double tier_gain(std::size_t tier) const;

  Params params_;
  Machine machine_;
  Nanoseconds interval_;
  std::uint64_t seed_;
  std::shared_ptr<Optimizer> optimizer_;
  std::vector<double> priorities_;  // by VM, known once the trace is
};

}  // namespace mcsim
