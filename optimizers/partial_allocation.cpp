#include "optimizers/partial_allocation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "optimizers/hull.hpp"

namespace mcsim {
namespace {

// The best step of one VM in one tier; `to` equals the current index if there is none.
struct Leap {
  std::size_t to = 0;
  Count blocks = 0;
  double utility = 0;  // per whole tier, comparable across tiers
};

bool exceeds(double a, double b) { return a > b + kTie * std::abs(b); }

Leap best_leap(const PartialAllocation& draft, std::size_t vm, std::size_t tier,
               Count& evaluations) {
  Leap best{.to = draft.at(vm, tier)};
  const double capacity = static_cast<double>(draft.problem().capacities[tier]);
  for (std::size_t to = best.to + 1; to <= draft.high(vm, tier); ++to) {
    const Count blocks = draft.blocks_needed(vm, tier, to);
    if (blocks > draft.left(tier)) break;
    ++evaluations;
    const double utility = draft.gain(vm, tier, to) * capacity / static_cast<double>(blocks);
    if (utility > 0 && exceeds(utility, best.utility)) best = {to, blocks, utility};
  }
  return best;
}

}  // namespace

Limits closed_limits(const AllocationProblem& problem) {
  const std::size_t tiers = problem.tiers();
  Limits limits{Choice(problem.vms(), std::vector<std::size_t>(tiers)),
                Choice(problem.vms(), std::vector<std::size_t>(tiers))};
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    std::size_t low = 0;
    for (std::size_t k = 0; k < tiers; ++k) {
      limits.low[v][k] = low = std::max(low, problem.low(v, k));
    }
    std::size_t high = problem.sizes.size() - 1;
    for (std::size_t k = tiers; k-- > 0;) {
      limits.high[v][k] = high = std::min(high, problem.high(v, k));
    }
  }
  return limits;
}

absl::StatusOr<PartialAllocation> PartialAllocation::at_reservations(
    const AllocationProblem& problem) {
  auto limits = std::make_shared<const Limits>(closed_limits(problem));
  PartialAllocation draft(problem, limits, limits->low);
  // An overfull tier takes space from the next faster one: a block there meets a reservation of the
  // tiers 0..k equally well.
  for (std::size_t k = problem.tiers(); k-- > 1;) {
    while (draft.left(k) < 0) {
      std::size_t smallest_vm = problem.vms();
      for (std::size_t v = 0; v < problem.vms(); ++v) {
        if (draft.at(v, k - 1) >= std::min(draft.at(v, k), draft.high(v, k - 1))) continue;
        if (smallest_vm == problem.vms() || draft.part(v, k - 1) < draft.part(smallest_vm, k - 1)) {
          smallest_vm = v;
        }
      }
      if (smallest_vm == problem.vms()) break;
      draft.raise_to(smallest_vm, k - 1, draft.at(smallest_vm, k - 1) + 1);
    }
  }
  for (std::size_t k = 0; k < problem.tiers(); ++k) {
    if (draft.left(k) < 0) {
      return invalid_argument("lowest: the reservations need {} blocks more than tier {} has",
                              -draft.left(k), k);
    }
  }
  return draft;
}

PartialAllocation::PartialAllocation(const AllocationProblem& problem, Choice choice)
    : PartialAllocation(problem, std::make_shared<const Limits>(closed_limits(problem)),
                        std::move(choice)) {}

PartialAllocation::PartialAllocation(const AllocationProblem& problem,
                                     std::shared_ptr<const Limits> limits, Choice choice)
    : problem_(&problem),
      limits_(std::move(limits)),
      choice_(std::move(choice)),
      left_(problem.capacities) {
  for (std::size_t v = 0; v < choice_.size(); ++v) {
    for (std::size_t k = 0; k < left_.size(); ++k) left_[k] -= part(v, k);
  }
}

Count PartialAllocation::part(std::size_t vm, std::size_t tier) const {
  const auto& sizes = problem_->sizes;
  return sizes[choice_[vm][tier]] - (tier == 0 ? 0 : sizes[choice_[vm][tier - 1]]);
}

double PartialAllocation::gain(std::size_t vm, std::size_t tier, std::size_t to) const {
  double sum = 0;
  for (std::size_t k = tier; k < left_.size() && choice_[vm][k] < to; ++k) {
    const auto& value = problem_->value[vm][k];
    sum += value[to] - value[choice_[vm][k]];
  }
  return sum;
}

void PartialAllocation::raise_to(std::size_t vm, std::size_t tier, std::size_t to) {
  for (std::size_t k = tier; k < left_.size(); ++k) left_[k] += part(vm, k);
  for (std::size_t k = tier; k < left_.size(); ++k) choice_[vm][k] = std::max(choice_[vm][k], to);
  for (std::size_t k = tier; k < left_.size(); ++k) left_[k] -= part(vm, k);
}

Count grow(PartialAllocation& draft) {
  const std::size_t vms = draft.problem().vms();
  const std::size_t tiers = draft.problem().tiers();
  Count evaluations = 0;
  std::vector<Leap> leaps(vms * tiers);
  std::vector<Count> left_then(tiers,
                               -1);  // by tier: free blocks when its leaps were computed
  std::size_t grown = vms;           // the VM that grew last: its leaps are stale
  while (true) {
    const Leap* best = nullptr;
    std::size_t best_tier = 0;
    std::size_t best_vm = 0;
    for (std::size_t k = 0; k < tiers; ++k) {
      const bool more_room = draft.left(k) > left_then[k];
      for (std::size_t v = 0; v < vms; ++v) {
        Leap& leap = leaps[v * tiers + k];
        if (more_room || v == grown || leap.blocks > draft.left(k)) {
          leap = best_leap(draft, v, k, evaluations);
        }
        if (leap.utility == 0) continue;
        const bool better = best == nullptr || exceeds(leap.utility, best->utility) ||
                            (!exceeds(best->utility, leap.utility) &&
                             std::pair(leap.blocks, draft.part(v, k)) <
                                 std::pair(best->blocks, draft.part(best_vm, best_tier)));
        if (better) best = &leap, best_tier = k, best_vm = v;
      }
    }
    if (best == nullptr) return evaluations;
    for (std::size_t k = 0; k < tiers; ++k) left_then[k] = draft.left(k);
    draft.raise_to(best_vm, best_tier, best->to);
    grown = best_vm;
  }
}

Solution make_solution(const AllocationProblem& problem, Choice choice, double bound,
                       Count evaluations, const Stopwatch& watch) {
  Solution solution;
  solution.objective = objective_of(problem, choice);
  solution.choice = std::move(choice);
  solution.upper_bound = std::max(bound, solution.objective);
  solution.evaluations = evaluations;
  solution.seconds = watch.seconds();
  return solution;
}

absl::Status require_one_tier(const AllocationProblem& problem, std::string_view method) {
  if (problem.tiers() == 1) return absl::OkStatus();
  return absl::UnimplementedError(
      fmt::format("{} divides one tier, the problem has {}: divide them one after the other, or "
                  "use exact, annealing, lookahead, lagrangian or ilp",
                  method, problem.tiers()));
}

}  // namespace mcsim
