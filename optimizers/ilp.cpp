#include "optimizers/ilp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();

// Solvers have absolute tolerances of about 1e-6. The largest cost is therefore scaled to between
// 2^20 and 2^21, so that a tolerance is below kTie of it.
constexpr int kCostDigits = 20;

// Blocks are counted in steps of the sizes' common divisor, which keeps the coefficients small.
//
// Every VM takes one size in every tier, so each table's least value is a constant of the
// objective. Costs are the values above it, scaled by a power of two, which rounds nothing.
class Formulation {
 public:
  explicit Formulation(const AllocationProblem& problem)
      : problem_(problem), limits_(closed_limits(problem)), step_(common_step(problem.sizes)) {
    for (std::size_t v = 0; v < problem.vms(); ++v) add_columns(v);
    scale_costs();
    add_one_size_each();
    add_capacities();
    add_order();
  }

  const BinaryProgram& program() const { return program_; }

  // Return the value of the problem for a value of the program.
  double value_of(double cost) const { return constant_ + std::ldexp(cost, -exponent_); }

  Choice choice(const std::vector<double>& x) const {
    Choice choice(problem_.vms());
    for (std::size_t v = 0; v < problem_.vms(); ++v) {
      for (const Columns& columns : columns_[v]) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(columns.first);
        const auto end = begin + static_cast<std::ptrdiff_t>(columns.sizes.size());
        choice[v].push_back(
            columns.sizes[static_cast<std::size_t>(std::max_element(begin, end) - begin)]);
      }
    }
    return choice;
  }

 private:
  // The sizes available to one VM in one tier, one column each.
  struct Columns {
    std::size_t first = 0;
    std::vector<std::size_t> sizes;
  };

  // Infeasible sizes get no column, and, where no other tier depends on them, sizes that have a
  // smaller one of equal value.
  void add_columns(std::size_t v) {
    auto& tiers = columns_.emplace_back();
    Count reach = 0;
    for (std::size_t k = 0; k < problem_.tiers(); ++k) {
      reach += problem_.capacities[k];
      const auto& value = problem_.value[v][k];
      const double least = std::ranges::min(value);
      constant_ += least;
      Columns& columns = tiers.emplace_back();
      columns.first = program_.cost.size();
      double best = -kFree;
      for (std::size_t i = limits_.low[v][k]; i <= limits_.high[v][k]; ++i) {
        if (problem_.sizes[i] > reach) break;
        if (problem_.tiers() == 1 && value[i] <= best) continue;
        best = std::max(best, value[i]);
        columns.sizes.push_back(i);
        program_.cost.push_back(value[i] - least);
      }
    }
  }

  void scale_costs() {
    double largest = 0;
    for (const double cost : program_.cost) largest = std::max(largest, cost);
    if (largest == 0) return;
    exponent_ = kCostDigits - std::ilogb(largest);
    for (double& cost : program_.cost) cost = std::ldexp(cost, exponent_);
  }

  void end_row(double low, double high) {
    program_.row_start.push_back(static_cast<std::int32_t>(program_.column.size()));
    program_.row_low.push_back(low);
    program_.row_high.push_back(high);
  }

  void add_ones(const Columns& columns) {
    for (std::size_t j = 0; j < columns.sizes.size(); ++j) add(columns.first + j, 1.0);
  }

  // Add sign x the cumulative size.
  void add_size(const Columns& columns, double sign) {
    for (std::size_t j = 0; j < columns.sizes.size(); ++j) {
      const Count steps = problem_.sizes[columns.sizes[j]] / step_;
      if (steps != 0) add(columns.first + j, sign * static_cast<double>(steps));
    }
  }

  void add(std::size_t column, double coefficient) {
    program_.column.push_back(static_cast<std::int32_t>(column));
    program_.coefficient.push_back(coefficient);
  }

  void add_one_size_each() {
    for (const auto& tiers : columns_) {
      for (const Columns& columns : tiers) {
        add_ones(columns);
        end_row(1, 1);
      }
    }
  }

  void add_capacities() {
    for (std::size_t k = 0; k < problem_.tiers(); ++k) {
      for (const auto& tiers : columns_) {
        if (k > 0) add_size(tiers[k - 1], -1);
        add_size(tiers[k], 1);
      }
      end_row(-kFree, static_cast<double>(problem_.capacities[k] / step_));
    }
  }

  void add_order() {
    for (const auto& tiers : columns_) {
      for (std::size_t k = 1; k < tiers.size(); ++k) {
        add_size(tiers[k - 1], 1);
        add_size(tiers[k], -1);
        end_row(-kFree, 0);
      }
    }
  }

  const AllocationProblem& problem_;
  Limits limits_;
  Count step_;
  std::vector<std::vector<Columns>> columns_;  // [vm][tier]
  BinaryProgram program_;
  double constant_ = 0;  // sum of the tables' least values
  int exponent_ = 0;     // of the factor of the costs
};

}  // namespace

absl::StatusOr<Solution> Ilp::solve(const AllocationProblem& problem) {
  const Stopwatch watch;
  MCSIM_RETURN_IF_ERROR(problem.validate());
  if (!solver_) {
    return absl::FailedPreconditionError(
        "ilp needs a solver for binary programs: from Python it is HiGHS (the highspy package)");
  }
  const Formulation formulation(problem);
  const BinaryProgram& program = formulation.program();
  MCSIM_ASSIGN_OR_RETURN(const BinaryProgramSolution answer, solver_(program));
  if (answer.x.size() != program.cost.size()) {
    return internal_error("the solver returned {} values for {} columns", answer.x.size(),
                          program.cost.size());
  }
  Choice choice = formulation.choice(answer.x);
  if (const absl::Status status = check_feasible(problem, choice); !status.ok()) {
    return internal_error("the solver's answer is not feasible: {}", message_of(status));
  }
  const double tie = tie_of(problem);
  const double claimed = formulation.value_of(answer.objective);
  const bool is_verified = std::abs(objective_of(problem, choice) - claimed) <= tie;
  PartialAllocation draft(problem, std::move(choice));
  draft.fill();
  double bound = relaxed_bound(problem);
  const double proven = formulation.value_of(answer.upper_bound);
  if (is_verified && proven >= objective_of(problem, draft.choice()) - tie) {
    bound = std::min(bound, proven);
  }
  return make_solution(problem, draft.choice(), bound, static_cast<Count>(program.cost.size()),
                       watch);
}

}  // namespace mcsim
