#pragma once

#include "core/base/params.hpp"
#include "core/engine/run/allocation.hpp"
#include "optimizers/draft.hpp"
#include "optimizers/hull.hpp"

namespace mcsim {

// The baseline: equal parts of every tier, within the bounds, whatever the
// values say. O(V) per size given.
class Equal final : public Optimizer {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{.name = "equal",
                                       .summary = "Give every VM an equal part of every tier.",
                                       .reference = "the static baseline of the Multi-Cache code"};

  Equal(Params, OptimizerContext) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    const Stopwatch watch;
    MCSIM_RETURN_IF_ERROR(problem.validate());
    MCSIM_ASSIGN_OR_RETURN(Draft draft, Draft::at_reservations(problem));
    draft.spread([](double) { return true; });
    return make_solution(problem, draft.choice(), relaxed_bound(problem), 0, watch);
  }
};

}  // namespace mcsim
