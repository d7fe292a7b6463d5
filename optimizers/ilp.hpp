#pragma once

#include <utility>

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim {

// The problem as a binary program: u[v][k][i] = 1 if VM v has sizes[i] in tiers 0..k. This class
// builds the program; the context's solver solves it, to its optimum or to the bound that it
// reports. Any number of tiers; the solver selects among equally good allocations.
//
// The solution is checked exactly: its sizes, and its value from the problem's own tables. If the
// solver's objective differs from that value by more than a tie (tie_of), or its bound is below it
// by more, its bound is replaced by the relaxed one.
class Ilp final : public Optimizer {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      .name = "ilp",
      .summary = "Solves a binary program with HiGHS, of one tier or several jointly.",
      .reference = "Huangfu and Hall, Mathematical Programming Computation 10, 2018"};

  Ilp(Params, OptimizerContext context) : solver_(std::move(context.binary_program_solver)) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  BinaryProgramSolver solver_;
};

}  // namespace mcsim
