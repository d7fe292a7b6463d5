#include "optimizers/exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/ranges.h>

#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kMaxTableCells = 0x1p27;  // 1 GiB of doubles

struct Optimum {
  Choice choice;
  double value = 0;
  Count evaluations = 0;
};

void raise_to_sums(double* best, const double* rest, double value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double sum = rest[i] + value;
    best[i] = best[i] < sum ? sum : best[i];
  }
}

// A state is the blocks used of every tier, in steps, as one mixed-radix number whose last digit is
// the slowest tier. An option of a VM, its blocks of every tier, is encoded in the same way.
class JointProgram {
 public:
  // Values of kNever are not options; differences below `tie` are ignored.
  JointProgram(const AllocationProblem& problem, double tie, Count work_limit)
      : problem_(problem), limits_(closed_limits(problem)), tie_(tie), work_limit_(work_limit) {
    const Count step = common_step(problem.sizes);
    for (const Count size : problem.sizes) units_.push_back(static_cast<std::size_t>(size / step));
    for (const Count capacity : problem.capacities) {
      budget_.push_back(static_cast<std::size_t>(capacity / step));
    }
  }

  absl::StatusOr<Optimum> solve() {
    MCSIM_RETURN_IF_ERROR(check_memory());
    for (std::size_t v = 0; v < problem_.vms(); ++v) add_options(v);
    MCSIM_RETURN_IF_ERROR(check_work());
    for (std::size_t v = 1; v + 1 < problem_.vms(); ++v) add_table(v);
    return trace_back();
  }

 private:
  struct Option {
    std::size_t state;
    double value;
    std::vector<std::size_t> taken;  // blocks of every tier, in steps: the digits of the state
  };

  absl::Status check_memory() {
    double cells = static_cast<double>(problem_.vms());
    states_ = 1;
    for (const std::size_t budget : budget_) {
      cells *= static_cast<double>(budget + 1);
      if (cells > kMaxTableCells) break;
      states_ *= budget + 1;
    }
    if (cells <= kMaxTableCells) return absl::OkStatus();
    return absl::FailedPreconditionError(
        fmt::format("{} VMs and capacities of {} steps need more than {} table cells: coarsen the "
                    "sizes, or use lagrangian or ilp",
                    problem_.vms(), fmt::join(budget_, " x "), kMaxTableCells));
  }

  absl::Status check_work() const {
    double work = 0;
    for (std::size_t v = 1; v + 1 < problem_.vms(); ++v) {
      work += static_cast<double>(options_[v].size()) * static_cast<double>(states_);
    }
    if (work <= static_cast<double>(work_limit_)) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format(
        "{} VMs and capacities of {} steps take about {:.1e} steps of work, work_limit "
        "is {:.1e}: coarsen the sizes, raise it, or use lagrangian or ilp",
        problem_.vms(), fmt::join(budget_, " x "), work, static_cast<double>(work_limit_)));
  }

  std::size_t row_length() const { return budget_.back() + 1; }

  // Return the blocks of every tier, in steps.
  std::vector<std::size_t> digits(std::size_t state) const {
    std::vector<std::size_t> used(budget_.size());
    for (std::size_t k = budget_.size(); k-- > 0;) {
      used[k] = state % (budget_[k] + 1);
      state /= budget_[k] + 1;
    }
    return used;
  }

  static bool within(const std::vector<std::size_t>& part, const std::vector<std::size_t>& whole) {
    return std::ranges::equal(part, whole, std::less_equal<>());
  }

  // Enumerate every feasible chain of cumulative sizes and store its value by state.
  void add_chains(std::size_t v, std::size_t k, std::size_t from, std::size_t state, double value,
                  std::vector<double>& worth) {
    if (k == budget_.size()) {
      worth[state] = value;
      return;
    }
    const std::size_t faster = k == 0 ? 0 : units_[from];
    for (std::size_t i = std::max(from, limits_.low[v][k]); i <= limits_.high[v][k]; ++i) {
      const std::size_t taken = units_[i] - faster;
      if (taken > budget_[k]) break;
      ++evaluations_;
      add_chains(v, k + 1, i, state * (budget_[k] + 1) + taken, value + problem_.value[v][k][i],
                 worth);
    }
  }

  // Keep the undominated options: no other option is at most as large in every tier and at least as
  // good. Meanwhile `worth` becomes its running maximum: the table of one VM.
  void add_options(std::size_t v) {
    std::vector<double> worth(states_, kNever);
    add_chains(v, 0, 0, 0, 0.0, worth);
    std::vector<Option>& options = options_.emplace_back();
    for (std::size_t state = 0; state < states_; ++state) {
      double smaller = kNever;
      std::size_t stride = 1;
      std::size_t rest = state;
      for (std::size_t k = budget_.size(); k-- > 0;) {
        const std::size_t radix = budget_[k] + 1;
        if (rest % radix > 0) smaller = std::max(smaller, worth[state - stride]);
        rest /= radix;
        stride *= radix;
      }
      if (worth[state] > smaller) options.push_back({state, worth[state], digits(state)});
      worth[state] = std::max(worth[state], smaller);
    }
    if (v == 0) tables_.push_back(std::move(worth));
  }

  // A row of the table is computed from rows of the previous table, shifted by the option's last
  // digit and raised by its value, in one contiguous loop.
  void add_table(std::size_t v) {
    const std::vector<double>& rest = tables_.back();
    std::vector<double> best(states_, kNever);
    const std::size_t length = row_length();
    for (std::size_t row = 0; row * length < states_; ++row) {
      const std::vector<std::size_t> used = digits(row * length + length - 1);
      for (const Option& option : options_[v]) {
        if (!within(option.taken, used)) continue;
        const std::size_t shift = option.state % length;
        raise_to_sums(best.data() + row * length + shift,
                      rest.data() + (row - option.state / length) * length, option.value,
                      length - shift);
      }
    }
    tables_.push_back(std::move(best));
  }

  double worth_of_rest(std::size_t v, std::size_t state) const {
    return v == 0 ? 0.0 : tables_[v - 1][state];
  }

  // Trace back from the last VM to the first: among options with the best value, take the one
  // nearest to an equal part of what is left for this VM and those before it.
  absl::StatusOr<Optimum> trace_back() const {
    Optimum optimum{.choice = Choice(problem_.vms()), .evaluations = evaluations_};
    std::size_t state = states_ - 1;
    for (std::size_t v = problem_.vms(); v-- > 0;) {
      const std::vector<std::size_t> used = digits(state);
      double best = kNever;
      for (const Option& option : options_[v]) {
        if (!within(option.taken, used)) continue;
        best = std::max(best, worth_of_rest(v, state - option.state) + option.value);
      }
      if (best == kNever) {
        return invalid_argument("lowest: no choice of sizes meets the reservations");
      }
      if (v + 1 == problem_.vms()) optimum.value = best;
      const std::size_t chosen = fairest(v, state, best - tie_);
      optimum.choice[v] = indices(digits(chosen));
      state -= chosen;
    }
    return optimum;
  }

  std::size_t fairest(std::size_t v, std::size_t state, double enough) const {
    const std::vector<std::size_t> used = digits(state);
    std::size_t chosen = 0;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (const Option& option : options_[v]) {
      if (!within(option.taken, used)) continue;
      if (worth_of_rest(v, state - option.state) + option.value < enough) continue;
      std::size_t unfairness = 0;
      for (std::size_t k = 0; k < used.size(); ++k) {
        const std::size_t mine = option.taken[k] * (v + 1);
        unfairness += mine > used[k] ? mine - used[k] : used[k] - mine;
      }
      if (unfairness < least) least = unfairness, chosen = option.state;
    }
    return chosen;
  }

  std::vector<std::size_t> indices(const std::vector<std::size_t>& taken) const {
    std::vector<std::size_t> choice;
    std::size_t cumulative = 0;
    for (const std::size_t blocks : taken) {
      cumulative += blocks;
      choice.push_back(
          static_cast<std::size_t>(std::ranges::lower_bound(units_, cumulative) - units_.begin()));
    }
    return choice;
  }

  const AllocationProblem& problem_;
  Limits limits_;
  double tie_;
  Count work_limit_;
  std::vector<std::size_t> units_;   // sizes in steps
  std::vector<std::size_t> budget_;  // capacities in steps
  std::size_t states_ = 1;
  std::vector<std::vector<Option>> options_;  // [vm]
  std::vector<std::vector<double>> tables_;   // [vm][state], except the last VM
  Count evaluations_ = 0;
};

// Return the problem of one tier without sizes that no allocation worth `found` or more can
// contain. With prices for blocks, the value of an allocation is below the price of all space plus
// the best of each VM at these prices by the sum of what each VM's size loses.
AllocationProblem without_hopeless(const AllocationProblem& problem, double price, double found) {
  const Limits limits = closed_limits(problem);
  const Count step = common_step(problem.sizes);
  double bound = price * static_cast<double>(problem.capacities[0] / step * step);
  double magnitude = bound;
  std::vector<double> best;
  const auto profit = [&](std::size_t v, std::size_t i) {
    return problem.value[v][0][i] - price * static_cast<double>(problem.sizes[i]);
  };
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    best.push_back(kNever);
    for (std::size_t i = limits.low[v][0]; i <= limits.high[v][0]; ++i) {
      best[v] = std::max(best[v], profit(v, i));
    }
    bound += best[v];
    magnitude += std::abs(best[v]);
  }
  const double gap = bound - found + tie_of(problem) + kTie * magnitude;
  AllocationProblem rest = problem;
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
      if (best[v] - profit(v, i) > gap) rest.value[v][0][i] = kNever;
    }
  }
  return rest;
}

absl::StatusOr<Optimum> solve_one_tier(const AllocationProblem& problem, Count work_limit) {
  const HullWalk walk = walk_hulls(problem);
  PartialAllocation draft(problem, walk.choice);
  const Count evaluations = walk.evaluations + grow(draft);
  draft.fill();
  const double tie = tie_of(problem);
  const double found = objective_of(problem, draft.choice());
  if (found >= walk.upper_bound - tie) {
    return Optimum{draft.choice(), walk.upper_bound, evaluations};
  }
  const AllocationProblem rest = without_hopeless(problem, walk.price, found);
  MCSIM_ASSIGN_OR_RETURN(Optimum optimum, JointProgram(rest, tie, work_limit).solve());
  PartialAllocation filled(problem, std::move(optimum.choice));
  filled.fill();
  return Optimum{filled.choice(), optimum.value, evaluations + optimum.evaluations};
}

// Return the separate optimum of each tier over cumulative sizes. Together they are the joint
// optimum if every VM's sizes rise from tier to tier.
absl::StatusOr<std::optional<Optimum>> solve_decoupled(const AllocationProblem& problem,
                                                       Count work_limit) {
  Optimum joint{.choice = Choice(problem.vms())};
  for (std::size_t k = 0; k < problem.tiers(); ++k) {
    const AllocationProblem alone = cumulative_tier(problem, k);
    MCSIM_ASSIGN_OR_RETURN(const Optimum optimum, solve_one_tier(alone, work_limit));
    for (std::size_t v = 0; v < problem.vms(); ++v) {
      joint.choice[v].push_back(optimum.choice[v][0]);
    }
    joint.value += optimum.value;
    joint.evaluations += optimum.evaluations;
  }
  if (!check_feasible(problem, joint.choice).ok()) return std::nullopt;
  return joint;
}

}  // namespace

absl::StatusOr<Solution> Exact::solve(const AllocationProblem& problem) {
  const Stopwatch watch;
  MCSIM_RETURN_IF_ERROR(problem.validate());
  Optimum optimum;
  if (problem.tiers() == 1) {
    MCSIM_ASSIGN_OR_RETURN(optimum, solve_one_tier(problem, params_.work_limit));
  } else {
    MCSIM_ASSIGN_OR_RETURN(const std::optional<Optimum> decoupled,
                           solve_decoupled(problem, params_.work_limit));
    if (decoupled) {
      optimum = *decoupled;
    } else {
      MCSIM_ASSIGN_OR_RETURN(optimum,
                             JointProgram(problem, tie_of(problem), params_.work_limit).solve());
    }
  }
  PartialAllocation draft(problem, std::move(optimum.choice));
  draft.fill();
  return make_solution(problem, draft.choice(), optimum.value, optimum.evaluations, watch);
}

}  // namespace mcsim
