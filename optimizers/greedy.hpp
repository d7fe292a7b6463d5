#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"
#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {

// Marginal gains on concave hulls: follow the steepest steps of the hulls until a step does not
// fit, then divide the rest by look-ahead on the curves. Optimal if all curves are concave;
// otherwise the loss is at most that one step. One tier; O(V n + n log V) on concave curves.
class Greedy final : public Optimizer {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "greedy",
      .summary = "Follows the steepest steps of the curves' concave hulls, for one tier.",
      .reference = "Fox, Operations Research 14(2), 1966"};

  Greedy(Params, OptimizerContext) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    const Stopwatch watch;
    MCSIM_RETURN_IF_ERROR(problem.validate());
    MCSIM_RETURN_IF_ERROR(require_one_tier(problem, kInfo.name));
    const HullWalk walk = walk_hulls(problem);
    PartialAllocation draft(problem, walk.choice);
    const Count evaluations = walk.evaluations + grow(draft);
    draft.fill();
    return make_solution(problem, draft.choice(), walk.upper_bound, evaluations, watch);
  }
};

}  // namespace mcsim
