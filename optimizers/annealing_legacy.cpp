#include "optimizers/annealing_legacy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/base/random.hpp"
#include "optimizers/draft.hpp"
#include "optimizers/hull.hpp"

namespace mcsim {
namespace {

// A size that a group may take.
struct Object {
  std::size_t group = 0;
  std::size_t size = 0;  // index into sizes
  double value = 0;
  Count weight = 0;
  std::uint32_t rank = 0;  // of the value among all values

  // What nothing costs is worth infinitely much, unless it is worth nothing.
  double ratio() const {
    if (weight > 0) return value / static_cast<double>(weight);
    return value > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
};

bool precedes(const Object& a, const Object& b) {
  return std::tuple(-a.ratio(), a.weight, a.group) < std::tuple(-b.ratio(), b.weight, b.group);
}

// The objects of one group as the upgrade looks through them: small numbers side by side.
struct Column {
  std::vector<std::uint32_t> size;   // index into sizes
  std::vector<std::uint32_t> rank;   // of the value among all values
  std::vector<std::uint32_t> place;  // in the order of all objects

  // The first from `at` on that has one of the first `sizes` sizes and at least that rank.
  std::size_t next(std::size_t at, std::uint32_t sizes, std::uint32_t least) const {
    constexpr std::size_t kTogether = 32;
    const auto fits = [&](std::size_t i) { return size[i] < sizes && rank[i] >= least; };
    for (; at + kTogether <= size.size(); at += kTogether) {
      std::uint32_t any = 0;
      for (std::size_t i = at; i < at + kTogether; ++i) {
        any |= static_cast<std::uint32_t>(size[i] < sizes) &
               static_cast<std::uint32_t>(rank[i] >= least);
      }
      if (any != 0) break;
    }
    while (at < size.size() && !fits(at)) ++at;
    return at;
  }
  // The first behind a place in the order of all objects.
  std::size_t behind(std::uint32_t at) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(place, at) - place.begin());
  }
};

class Knapsack {
 public:
  Knapsack(const AllocationProblem& problem, bool whole_percent)
      : capacity_(problem.capacities[0]),
        sizes_(problem.sizes),
        groups_(problem.vms()),
        columns_(problem.vms()),
        next_(problem.vms()) {
    std::vector<double> values;
    for (std::size_t v = 0; v < problem.vms(); ++v) {
      for (std::size_t i = problem.low(v, 0); i <= problem.high(v, 0); ++i) {
        const double value = problem.value[v][0][i];
        groups_[v].push_back(
            {v, i, whole_percent ? std::trunc(100 * value) : value, problem.sizes[i]});
        values.push_back(groups_[v].back().value);
      }
      std::ranges::sort(groups_[v], precedes);
    }
    std::ranges::sort(values);
    for (auto& group : groups_) {
      for (Object& object : group) {
        const auto rank = std::ranges::lower_bound(values, object.value) - values.begin();
        object.rank = static_cast<std::uint32_t>(rank);
      }
      lightest_.push_back(*std::ranges::min_element(group, {}, &Object::weight));
      chosen_.push_back(group.front());
    }
    fill_columns();
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

  Count object_count() const {
    Count sum = 0;
    for (const auto& group : groups_) sum += static_cast<Count>(group.size());
    return sum;
  }

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
  Count excess() const {
    Count weight = -capacity_;
    for (const Object& object : chosen_) weight += object.weight;
    return std::max<Count>(weight, 0);
  }

  // Group by group, its objects in order of ratio as long as the excess does not
  // grow. What is too much after that is taken from the heaviest.
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

  void fill_columns() {
    std::vector<Object> objects;
    for (const auto& group : groups_) objects.insert(objects.end(), group.begin(), group.end());
    std::ranges::sort(objects, precedes);
    for (std::size_t place = 0; place < objects.size(); ++place) {
      Column& column = columns_[objects[place].group];
      column.size.push_back(static_cast<std::uint32_t>(objects[place].size));
      column.rank.push_back(objects[place].rank);
      column.place.push_back(static_cast<std::uint32_t>(place));
    }
  }

  // Goes through the objects of all groups by ratio, and takes each that fits and is worth no
  // less than what its group has. Groups are looked through one by one for the next that they
  // would take; the first of these is taken, which changes what fits the others.
  void upgrade() {
    Count left = capacity_;
    for (const Object& object : chosen_) left -= object.weight;
    const auto look = [&](std::size_t group, std::size_t from) {
      const Object& current = chosen_[group];
      const auto fit = std::ranges::upper_bound(sizes_, left + current.weight) - sizes_.begin();
      next_[group] = columns_[group].next(from, static_cast<std::uint32_t>(fit), current.rank);
    };
    for (std::size_t g = 0; g < groups_.size(); ++g) look(g, 0);
    while (true) {
      const std::size_t group = first_in_line();
      if (group == groups_.size()) return;
      const std::size_t at = next_[group];
      const Object& taken = groups_[group][at];
      const Count more = taken.weight - chosen_[group].weight;
      const std::uint32_t place = columns_[group].place[at];
      left -= more;
      chosen_[group] = taken;
      look(group, at + 1);
      if (more == 0) continue;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        // With less space nothing fits that did not.
        if (g != group) look(g, more > 0 ? next_[g] : columns_[g].behind(place));
      }
    }
  }

  // The group whose next object comes first; as many as there are groups if none has one.
  std::size_t first_in_line() const {
    std::size_t first = groups_.size();
    std::uint32_t place = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (next_[g] == groups_[g].size() || columns_[g].place[next_[g]] > place) continue;
      place = columns_[g].place[next_[g]];
      first = g;
    }
    return first;
  }

  Count capacity_;
  const std::vector<Count>& sizes_;
  std::vector<std::vector<Object>> groups_;  // by ratio
  std::vector<Object> lightest_;             // by group
  std::vector<Column> columns_;              // by group
  std::vector<std::size_t> next_;            // by group: what the upgrade would take
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
  for (Count i = 0; i < params_.iterations; ++i) {
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
                       params_.iterations * knapsack.object_count(), watch);
}

}  // namespace mcsim
