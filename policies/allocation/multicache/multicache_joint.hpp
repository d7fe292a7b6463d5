#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/curve_maximizer.hpp"

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
class MultiCacheJoint final : public CurveMaximizer {
 public:
  struct Params : CurveMaximizer::Params {
    JointObjective objective = JointObjective::kRatio;
    Count grid = 20;

    static constexpr auto fields() {
      return std::tuple_cat(
          CurveMaximizer::Params::fields(),
          std::tuple{
              Field{"objective", &Params::objective,
                    "Multi-Cache's utility, or the mean latency that hits of reads save"},
              Field{"grid", &Params::grid, "units in the smallest tier", 1, 100'000},
          });
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "multicache-joint",
      .summary =
          "Multi-Cache's utility maximised over all tiers at once: the layered "
          "heuristic's yardstick.",
      .reference = "Joint formulation of Multi-Cache (IC2E 2016)"};

  static absl::StatusOr<std::unique_ptr<System>> make(Params params, SystemContext context);
  MultiCacheJoint(const Params& params, SystemContext context)
      : CurveMaximizer(kInfo.name, params, std::move(context), {.tiers = Tiers::kTogether}),
        params_(params) {}

  std::optional<std::string> default_optimizer() const override { return "exact"; }
  std::vector<Meter> meters() const override;

 protected:
  Grid grid(const Stage& stage) const override;
  double worth(const Observation& seen, const Stage& stage, std::size_t vm, std::size_t tier,
               Count blocks) const override;

 private:
  double tier_gain(std::size_t tier) const;

  Params params_;
};

}  // namespace mcsim
