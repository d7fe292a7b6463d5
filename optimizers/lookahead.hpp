#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"
#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {

// Utility-based look-ahead: starts from the reservations and repeats the step of any length with
// the greatest gain per block. It therefore crosses a cliff that fits into the free space. Any
// number of tiers; O(V n) per step at worst.
class Lookahead final : public Optimizer {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "lookahead",
      .summary = "Repeats the step of any length with the greatest gain per block.",
      .reference = "Qureshi and Patt, MICRO 2006"};

  Lookahead(Params, OptimizerContext) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    const Stopwatch watch;
    MCSIM_RETURN_IF_ERROR(problem.validate());
    MCSIM_ASSIGN_OR_RETURN(PartialAllocation draft, PartialAllocation::at_reservations(problem));
    const Count evaluations = grow(draft);
    draft.fill();
    return make_solution(problem, draft.choice(), relaxed_bound(problem), evaluations, watch);
  }
};

}  // namespace mcsim
