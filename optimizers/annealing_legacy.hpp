#pragma once

#include "core/base/params.hpp"
#include "core/engine/run/allocation.hpp"

namespace mcsim {

// The annealer behind the published Multi-Cache numbers: a
// hybrid for the multiple-choice knapsack, with VMs as groups, sizes as objects
// and values cut to whole hundredths. A greedy start is perturbed by a few random
// objects, repaired and upgraded; the search falls back to the best solution more
// and more often, and soon always.
//
// The search ends early at a choice that is proven best: the result is the same.
//
// One tier, any sizes. Capacity may stay unused: what objects do not fill is the
// caller's to scale up. O(V n) per iteration.
class AnnealingLegacy final : public Optimizer {
 public:
  struct Params {
    Count iterations = 10'000;
    bool whole_percent = true;

    static constexpr auto fields() {
      return std::tuple{
          Field{"iterations", &Params::iterations, "perturbations tried", 1},
          Field{"whole_percent", &Params::whole_percent, "cut 100 x value to a whole number"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "annealing-legacy",
      .summary = "Anneal a multiple-choice knapsack of one tier as the Multi-Cache authors did.",
      .reference = "the public code of Multi-Cache"};

  AnnealingLegacy(Params params, OptimizerContext context) : params_(params), seed_(context.seed) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
  std::uint64_t seed_;
};

}  // namespace mcsim
