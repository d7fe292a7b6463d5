#include "optimizers/ilp.hpp"

#include <algorithm>
#include <limits>

#include "optimizers/draft.hpp"
#include "optimizers/hull.hpp"

namespace mcsim {
namespace {

constexpr double kFree = std::numeric_limits<double>::infinity();

// Blocks are counted in steps of the sizes' common divisor, which keeps the
// coefficients small.
class Formulation {
 public:
  explicit Formulation(const AllocationProblem& problem)
      : problem_(problem), limits_(closed_limits(problem)), step_(common_step(problem.sizes)) {
    drop_sizes_too_large();
    for (std::size_t v = 0; v < problem.vms(); ++v) {
      auto& first = first_column_.emplace_back();
      for (std::size_t k = 0; k < problem.tiers(); ++k) {
        first.push_back(program_.cost.size());
        const auto& value = problem.value[v][k];
        for (std::size_t i = limits_.low[v][k]; i <= limits_.high[v][k]; ++i) {
          program_.cost.push_back(value[i]);
        }
      }
    }
    add_one_size_each();
    add_capacities();
    add_order();
  }

  const BinaryProgram& program() const { return program_; }

  Choice choice(const std::vector<double>& x) const {
    Choice choice(problem_.vms());
    for (std::size_t v = 0; v < problem_.vms(); ++v) {
      for (std::size_t k = 0; k < problem_.tiers(); ++k) {
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first_column_[v][k]);
        const auto end = begin + static_cast<std::ptrdiff_t>(column_count(v, k));
        choice[v].push_back(limits_.low[v][k] +
                            static_cast<std::size_t>(std::max_element(begin, end) - begin));
      }
    }
    return choice;
  }

 private:
  std::size_t column_count(std::size_t v, std::size_t k) const {
    return limits_.high[v][k] - limits_.low[v][k] + 1;
  }

  void drop_sizes_too_large() {
    for (std::size_t v = 0; v < problem_.vms(); ++v) {
      Count reach = 0;
      for (std::size_t k = 0; k < problem_.tiers(); ++k) {
        reach += problem_.capacities[k];
        std::size_t& high = limits_.high[v][k];
        while (problem_.sizes[high] > reach) --high;
      }
    }
  }

  void end_row(double low, double high) {
    program_.row_start.push_back(static_cast<std::int32_t>(program_.column.size()));
    program_.row_low.push_back(low);
    program_.row_high.push_back(high);
  }

  void add_ones(std::size_t v, std::size_t k) {
    for (std::size_t j = 0; j < column_count(v, k); ++j) add(first_column_[v][k] + j, 1.0);
  }

  // sign x the cumulative size of tiers 0..k.
  void add_size(std::size_t v, std::size_t k, double sign) {
    for (std::size_t j = 0; j < column_count(v, k); ++j) {
      const Count steps = problem_.sizes[limits_.low[v][k] + j] / step_;
      if (steps != 0) add(first_column_[v][k] + j, sign * static_cast<double>(steps));
    }
  }

  void add(std::size_t column, double coefficient) {
    program_.column.push_back(static_cast<std::int32_t>(column));
    program_.coefficient.push_back(coefficient);
  }

  void add_one_size_each() {
    for (std::size_t v = 0; v < problem_.vms(); ++v) {
      for (std::size_t k = 0; k < problem_.tiers(); ++k) {
        add_ones(v, k);
        end_row(1, 1);
      }
    }
  }

  void add_capacities() {
    for (std::size_t k = 0; k < problem_.tiers(); ++k) {
      for (std::size_t v = 0; v < problem_.vms(); ++v) {
        if (k > 0) add_size(v, k - 1, -1);
        add_size(v, k, 1);
      }
      end_row(-kFree, static_cast<double>(problem_.capacities[k] / step_));
    }
  }

  void add_order() {
    for (std::size_t v = 0; v < problem_.vms(); ++v) {
      for (std::size_t k = 1; k < problem_.tiers(); ++k) {
        add_size(v, k - 1, 1);
        add_size(v, k, -1);
        end_row(-kFree, 0);
      }
    }
  }

  const AllocationProblem& problem_;
  Limits limits_;
  Count step_;
  std::vector<std::vector<std::size_t>> first_column_;  // [vm][tier]
  BinaryProgram program_;
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
  Draft draft(problem, std::move(choice));
  draft.fill();
  return make_solution(problem, draft.choice(),
                       std::min(answer.upper_bound, relaxed_bound(problem)),
                       static_cast<Count>(program.cost.size()), watch);
}

}  // namespace mcsim
