#pragma once

#include <utility>

#include "core/base/params.hpp"
#include "core/engine/run/allocation.hpp"

namespace mcsim {

// The problem as a binary program: u[v][k][i] says that VM v has
// sizes[i] in tiers 0..k. The program is built here and solved by the context's
// solver, to its optimum or to the bound it reports. Any number of tiers; among
// equally good allocations it is the solver that chooses.
class Ilp final : public Optimizer {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "ilp",
      .summary = "Solve a binary program, of one tier or several jointly, with HiGHS.",
      .reference = "Huangfu and Hall, Mathematical Programming Computation 10, 2018"};

  Ilp(Params, OptimizerContext context) : solver_(std::move(context.binary_program_solver)) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  BinaryProgramSolver solver_;
};

}  // namespace mcsim
