#include "optimizers/annealing_legacy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/base/random.hpp"
#include "optimizers/hull.hpp"
#include "optimizers/partial_allocation.hpp"

namespace mcsim {
namespace {

// A size that a group may take.
struct Object {
  std::size_t group = 0;
  std::size_t size = 0;  // index into sizes
  double value = 0;
  Count weight = 0;

  // An object of weight 0 has an infinite ratio, unless its value is 0.
  double ratio() const {
    if (weight > 0) return value / static_cast<double>(weight);
    return value > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
};

bool precedes(const Object& a, const Object& b) {
  return std::tuple(-a.ratio(), a.weight, a.group) < std::tuple(-b.ratio(), b.weight, b.group);
}

class Knapsack {
 public:
  Knapsack(const AllocationProblem& problem, bool whole_percent)
      : capacity_(problem.capacities[0]), groups_(problem.vms()) {
    for (std::size_t v = 0; v < problem.vms(); ++v) {
      for (std::size_t i = problem.low(v, 0); i <= problem.high(v, 0); ++i) {
        const double value = problem.value[v][0][i];
        groups_[v].push_back(
            {v, i, whole_percent ? std::trunc(100 * value) : value, problem.sizes[i]});
      }
      std::ranges::sort(groups_[v], precedes);
      objects_.insert(objects_.end(), groups_[v].begin(), groups_[v].end());
    }
    std::ranges::sort(objects_, precedes);
    for (const auto& group : groups_) {
      chosen_.push_back(group.front());
      lightest_.push_back(*std::ranges::min_element(group, {}, &Object::weight));
    }
    repair();
    upgrade();
  }

  double value() const {
    double sum = 0;
    for (const Object& object : chosen_) sum += object.value;
    return sum;
  }

  Choice choice() const {
    Choice sizes;
    for (const Object& object : chosen_) sizes.push_back({object.size});
    return sizes;
  }

  // Return the greatest value of a feasible choice, by dynamic programming over values. Infinite if
  // values are not whole, or if it takes more than kMostWork steps.
  double optimum() const {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    constexpr Count kNone = std::numeric_limits<Count>::max();
    const double step = common_step();
    if (step == 0) return kUnknown;
    std::vector<Count> least{0};  // minimum weight of each value, in steps
    double work = 0;
    for (const auto& group : groups_) {
      const double most = std::ranges::max_element(group, {}, &Object::value)->value;
      const std::vector<Object> options = lightest_of_values(group);
      work += most / step + static_cast<double>(least.size() * options.size());
      if (work > kMostWork) return kUnknown;
      std::vector<Count> next(least.size() + static_cast<std::size_t>(most / step), kNone);
      for (const Object& object : options) {
        const auto shift = static_cast<std::size_t>(object.value / step);
        for (std::size_t value = 0; value < least.size(); ++value) {
          if (least[value] > capacity_) continue;
          next[value + shift] = std::min(next[value + shift], least[value] + object.weight);
        }
      }
      least = std::move(next);
    }
    std::size_t best = least.size() - 1;
    while (best > 0 && least[best] > capacity_) --best;
    return static_cast<double>(best) * step;
  }

  Count object_count() const { return static_cast<Count>(objects_.size()); }

  const std::vector<Object>& chosen() const { return chosen_; }
  void restore(std::vector<Object> chosen) { chosen_ = std::move(chosen); }

  void perturb(Random& random) {
    constexpr std::size_t kManyGroups = 50;
    const int changes = groups_.size() >= kManyGroups ? 5 : 3;
    for (int i = 0; i < changes; ++i) {
      const auto& group = groups_[random.below(groups_.size())];
      const Object& object = group[random.below(group.size())];
      chosen_[object.group] = object;
    }
    repair();
    upgrade();
  }

 private:
  static constexpr double kMostWork = 1e7;

  // Return the greatest common divisor of all values; 0 if one is negative or not whole.
  double common_step() const {
    std::int64_t step = 0;
    for (const Object& object : objects_) {
      const bool whole =
          object.value >= 0 && object.value < 1e15 && object.value == std::trunc(object.value);
      if (!whole) return 0;
      step = std::gcd(step, static_cast<std::int64_t>(object.value));
    }
    return static_cast<double>(std::max<std::int64_t>(step, 1));
  }

  static std::vector<Object> lightest_of_values(std::vector<Object> group) {
    std::ranges::sort(group, {}, [](const Object& o) { return std::pair(o.value, o.weight); });
    const auto rest = std::ranges::unique(group, {}, &Object::value);
    group.erase(rest.begin(), rest.end());
    return group;
  }

  Count excess() const {
    Count weight = -capacity_;
    for (const Object& object : chosen_) weight += object.weight;
    return std::max<Count>(weight, 0);
  }

  // Repair group by group with its objects in order of ratio, as long as the excess does not grow.
  // The remaining excess is taken from the heaviest objects.
  void repair() {
    for (const auto& group : groups_) {
      for (const Object& object : group) {
        const Count before = excess();
        if (before == 0) return;
        const Object replaced = std::exchange(chosen_[object.group], object);
        if (excess() > before) {
          chosen_[object.group] = replaced;
          break;
        }
      }
    }
    while (excess() > 0) {
      std::size_t heaviest = 0;
      Count most = -1;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Count spare = chosen_[g].weight - lightest_[g].weight;
        if (spare > most) most = spare, heaviest = g;
      }
      chosen_[heaviest] = lightest_[heaviest];
    }
  }

  void upgrade() {
    Count weight = 0;
    for (const Object& object : chosen_) weight += object.weight;
    for (const Object& object : objects_) {
      Object& current = chosen_[object.group];
      const Count changed = weight - current.weight + object.weight;
      if (changed > capacity_ || object.value < current.value) continue;
      weight = changed;
      current = object;
    }
  }

  Count capacity_;
  std::vector<std::vector<Object>> groups_;  // by ratio
  std::vector<Object> lightest_;             // by group
  std::vector<Object> objects_;              // objects of all groups, by ratio
  std::vector<Object> chosen_;               // one per group
};

}  // namespace

absl::StatusOr<Solution> AnnealingLegacy::solve(const AllocationProblem& problem) {
  const Stopwatch watch;
  MCSIM_RETURN_IF_ERROR(problem.validate());
  MCSIM_RETURN_IF_ERROR(require_one_tier(problem, kInfo.name));
  Random random = Random(seed_).split(kInfo.name);
  Knapsack knapsack(problem, params_.whole_percent);
  std::vector<Object> best = knapsack.chosen();
  double best_value = knapsack.value();
  // Sums of whole values are exact, so iterations after the optimum cannot change the best choice.
  const double optimum = knapsack.optimum();
  Count i = 0;
  for (; i < params_.iterations && best_value < optimum; ++i) {
    knapsack.perturb(random);
    if (const double value = knapsack.value(); value > best_value) {
      best_value = value;
      best = knapsack.chosen();
    } else if (random.uniform() <
               10 * static_cast<double>(i) / static_cast<double>(params_.iterations)) {
      knapsack.restore(best);
    }
  }
  knapsack.restore(std::move(best));
  return make_solution(problem, knapsack.choice(), relaxed_bound(problem),
                       i * knapsack.object_count(), watch);
}

}  // namespace mcsim
