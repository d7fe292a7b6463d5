#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/params.hpp"
#include "core/engine/run/system.hpp"
#include "policies/allocation/curve_maximizer.hpp"

namespace mcsim {

enum class JointObjective : std::uint8_t {
  kRatio,    // Multi-Cache's utility: hit ratios weighted by l_backend / l_tier
  kLatency,  // mean latency saved
};

template <>
struct Choices<JointObjective> {
  static constexpr std::array names{std::pair{"ratio", JointObjective::kRatio},
                                    std::pair{"latency", JointObjective::kLatency}};
};

// Maximises over all tiers at once what Multi-Cache approximates tier by tier: with z_k the blocks
// of a VM in tiers 0..k, its utility is Σ_k a_k · H(z_k), where a_k is the gain of a hit in tier k
// over a hit in the next slower tier. On concave curves both have the same value.
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
                    "Multi-Cache's utility (ratio), or the mean latency that hits of reads save "
                    "(latency)"},
              Field{"grid", &Params::grid,
                    "number of units into which the smallest tier is divided", 1, 100'000},
          });
    }
  };
  static constexpr ComponentInfo kInfo{.name = "multicache-joint",
                                       .summary =
                                           "Maximises Multi-Cache's utility over all tiers at "
                                           "once; an upper reference for the layered heuristic.",
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
