#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"
#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {

// The baseline: equal parts of every tier, within the bounds, independent of the values. O(V) per
// step.
class Equal final : public Optimizer {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "equal",
      .summary = "Gives every VM an equal part of every tier, within its bounds.",
      .reference = "the static baseline of the Multi-Cache code"};

  Equal(Params, OptimizerContext) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    const Stopwatch watch;
    MCSIM_RETURN_IF_ERROR(problem.validate());
    MCSIM_ASSIGN_OR_RETURN(PartialAllocation draft, PartialAllocation::at_reservations(problem));
    draft.distribute_leftover([](double) { return true; });
    return make_solution(problem, draft.choice(), relaxed_bound(problem), 0, watch);
  }
};

}  // namespace mcsim
