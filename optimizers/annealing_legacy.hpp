#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim {

// The annealer behind the published Multi-Cache results: a hybrid for the multiple-choice knapsack,
// with VMs as groups, sizes as objects and values truncated to hundredths. A greedy start is
// perturbed by a few random objects, repaired and upgraded. The search returns to the best solution
// with rising probability, which soon is 1.
//
// The search ends early at a choice that is proven optimal; the result is the same.
//
// One tier, any sizes. Capacity may stay unused; the caller may scale the result up. O(V n) per
// iteration.
class AnnealingLegacy final : public Optimizer {
 public:
  struct Params {
    Count iterations = 10'000;
    bool whole_percent = true;

    static constexpr auto fields() {
      return std::tuple{
          Field{"iterations", &Params::iterations, "number of perturbations tried", 1},
          Field{"whole_percent", &Params::whole_percent,
                "whether values are truncated to hundredths"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "annealing-legacy",
      .summary =
          "Anneals a multiple-choice knapsack of one tier as in the Multi-Cache authors' code.",
      .reference = "the public code of Multi-Cache"};

  AnnealingLegacy(Params params, OptimizerContext context) : params_(params), seed_(context.seed) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
  std::uint64_t seed_;
};

}  // namespace mcsim
