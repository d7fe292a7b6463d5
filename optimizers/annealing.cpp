#include "optimizers/annealing.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/random.hpp"
#include "core/base/share.hpp"
#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {
namespace {

// A move of `units` of the cumulative sizes of tiers first..last between two VMs; the number of VMs
// stands for free space.
struct Move {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t units = 0;  // 0: no move
};

// A choice on equally spaced sizes, and its random moves.
class Walker {
 public:
  Walker(const AllocationProblem& problem, const PartialAllocation& start, double stride)
      : problem_(problem),
        limits_(start.limits()),
        choice_(start.choice()),
        parties_(problem.vms() + (can_lose(problem) ? 1 : 0)) {
    for (std::size_t k = 0; k < problem.tiers(); ++k) {
      const Count unit = problem.unit();
      left_.push_back(static_cast<std::size_t>(start.left(k) / unit));
      const Count units = floor_share(stride, problem.capacities[k] / unit);
      longest_.push_back(static_cast<std::size_t>(std::max<Count>(1, units)));
    }
  }

  const Choice& choice() const { return choice_; }

  Move random_move(Random& random) const {
    Move move;
    move.first = random.below(left_.size());
    move.last = move.first + random.below(left_.size() - move.first);
    if (parties_ < 2) return move;
    move.from = random.below(parties_);
    move.to = random.below(parties_ - 1);
    if (move.to >= move.from) ++move.to;
    const std::size_t wanted = 1 + random.below(longest_[move.first]);
    move.units = std::min({wanted, most_to_give(move), most_to_take(move)});
    return move;
  }

  double gain(const Move& move) const {
    double sum = 0;
    for (std::size_t k = move.first; k <= move.last; ++k) {
      if (!is_free(move.from)) {
        const auto& value = problem_.value[move.from][k];
        const std::size_t i = choice_[move.from][k];
        sum += value[i - move.units] - value[i];
      }
      if (!is_free(move.to)) {
        const auto& value = problem_.value[move.to][k];
        const std::size_t i = choice_[move.to][k];
        sum += value[i + move.units] - value[i];
      }
    }
    return sum;
  }

  void apply(const Move& move) {
    const std::size_t next = move.last + 1;
    for (std::size_t k = move.first; k <= move.last; ++k) {
      if (!is_free(move.from)) choice_[move.from][k] -= move.units;
      if (!is_free(move.to)) choice_[move.to][k] += move.units;
    }
    if (is_free(move.from)) {
      left_[move.first] -= move.units;
      if (next < left_.size()) left_[next] += move.units;
    }
    if (is_free(move.to)) {
      left_[move.first] += move.units;
      if (next < left_.size()) left_[next] -= move.units;
    }
  }

 private:
  // Whether more space ever has less value: only then is free space useful.
  static bool can_lose(const AllocationProblem& problem) {
    return std::ranges::any_of(problem.value, [](const auto& tables) {
      return std::ranges::any_of(tables, [](const auto& t) { return !std::ranges::is_sorted(t); });
    });
  }

  bool is_free(std::size_t vm) const { return vm == choice_.size(); }

  std::size_t most_to_give(const Move& move) const {
    if (is_free(move.from)) return left_[move.first];
    const auto& mine = choice_[move.from];
    std::size_t most = move.first == 0 ? mine[0] : mine[move.first] - mine[move.first - 1];
    for (std::size_t k = move.first; k <= move.last; ++k) {
      most = std::min(most, mine[k] - limits_.low[move.from][k]);
    }
    return most;
  }

  // Space freed in the fastest tier of a range is missing in the next slower tier, which then holds
  // more of the same cumulative size.
  std::size_t most_to_take(const Move& move) const {
    const bool is_last = move.last + 1 == left_.size();
    if (is_free(move.to)) return is_last ? problem_.sizes.size() : left_[move.last + 1];
    const auto& mine = choice_[move.to];
    std::size_t most = is_last ? problem_.sizes.size() : mine[move.last + 1] - mine[move.last];
    for (std::size_t k = move.first; k <= move.last; ++k) {
      most = std::min(most, limits_.high[move.to][k] - mine[k]);
    }
    return most;
  }

  const AllocationProblem& problem_;
  const Limits& limits_;
  Choice choice_;
  std::size_t parties_;               // VMs, and free space if it takes part
  std::vector<std::size_t> left_;     // units, per tier
  std::vector<std::size_t> longest_;  // longest move, per tier
};

// A start and an upper bound of all allocations.
struct Start {
  PartialAllocation draft;
  double bound;
};

absl::StatusOr<Start> better_start(const AllocationProblem& problem, Count& evaluations) {
  MCSIM_ASSIGN_OR_RETURN(PartialAllocation equal, PartialAllocation::at_reservations(problem));
  PartialAllocation greedy = equal;
  double bound = 0;
  if (problem.tiers() == 1) {
    HullWalk walk = walk_hulls(problem);
    greedy = equal.at(std::move(walk.choice));
    bound = walk.upper_bound;
  } else {
    bound = relaxed_bound(problem);
  }
  equal.distribute_leftover([](double) { return true; });
  evaluations += grow(greedy);
  greedy.fill();
  const bool equal_is_better =
      objective_of(problem, equal.choice()) >= objective_of(problem, greedy.choice());
  return Start{equal_is_better ? std::move(equal) : std::move(greedy), bound};
}

// Return whether `choice` meets the upper bound, up to rounding.
bool is_proven_best(const AllocationProblem& problem, const Choice& choice, double bound) {
  return objective_of(problem, choice) >= bound - tie_of(problem);
}

double range_of_neighbours(const Walker& walker, Random& random) {
  constexpr int kNeighbours = 100;
  double least = 0;
  double most = 0;
  for (int i = 0; i < kNeighbours; ++i) {
    const double gain = walker.gain(walker.random_move(random));
    least = std::min(least, gain);
    most = std::max(most, gain);
  }
  return most - least;
}

// Return the best allocation on a random walk from `start`.
Choice walk(const AllocationProblem& problem, const PartialAllocation& start,
            const Annealing::Params& params, Random random, Count& evaluations) {
  Walker walker(problem, start, params.stride);
  double temperature = params.start_temperature * range_of_neighbours(walker, random);
  double above_start = 0;
  double best_above_start = 0;
  Choice best = walker.choice();
  for (Count i = 0; i < params.iterations; ++i, temperature *= params.cooling) {
    const Move move = walker.random_move(random);
    if (move.units == 0) continue;
    const double gain = walker.gain(move);
    ++evaluations;
    if (gain < 0 && random.uniform() >= std::exp(gain / temperature)) continue;
    walker.apply(move);
    above_start += gain;
    if (above_start > best_above_start) {
      best_above_start = above_start;
      best = walker.choice();
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<Solution> Annealing::solve(const AllocationProblem& problem) {
  const Stopwatch watch;
  MCSIM_RETURN_IF_ERROR(problem.validate());
  if (problem.unit() == 0) {
    return invalid_argument(
        "annealing moves equal units: sizes must be equally spaced (annealing-legacy and exact "
        "take any)");
  }
  Count evaluations = 0;
  MCSIM_ASSIGN_OR_RETURN(const Start found, better_start(problem, evaluations));
  const auto& [start, bound] = found;
  if (is_proven_best(problem, start.choice(), bound)) {
    PartialAllocation best = start;
    best.fill();
    return make_solution(problem, best.choice(), bound, evaluations, watch);
  }

  Choice best = walk(problem, start, params_, Random(seed_).split(kInfo.name), evaluations);
  // Rounding may have made a neighbour of equal worth look better.
  if (objective_of(problem, best) < objective_of(problem, start.choice())) best = start.choice();
  PartialAllocation draft = start.at(std::move(best));
  draft.fill();
  return make_solution(problem, draft.choice(), bound, evaluations, watch);
}

}  // namespace mcsim
