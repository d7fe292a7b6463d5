#include "optimizers/hull.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "optimizers/partial_allocation.hpp"

namespace mcsim {
namespace {

// Return a slope rounded to 40 binary digits: slopes that differ only by rounding are equal, at
// every scale, and the order of slopes is total.
double rounded_slope(double slope) {
  constexpr int kDigits = 40;
  int exponent = 0;
  const double fraction = std::frexp(slope, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, kDigits)), exponent - kDigits);
}

// A VM's next hull step.
struct Step {
  double slope = 0;
  double steepness = 0;  // rounded
  Count part = 0;
  std::size_t vm = 0;

  bool operator<(const Step& other) const {
    if (steepness != other.steepness) return steepness < other.steepness;
    return part != other.part ? part > other.part : vm > other.vm;
  }
};

// The walk of one VM along its hull.
class HullPath {
 public:
  HullPath(const AllocationProblem& problem, std::size_t vm)
      : sizes_(problem.sizes),
        value_(problem.value[vm][0]),
        hull_(upper_hull(sizes_, value_, problem.low(vm, 0), problem.high(vm, 0))) {}

  bool done() const { return position_ + 1 == hull_.size(); }
  std::size_t at() const { return hull_[position_]; }
  Count blocks() const { return sizes_[hull_[position_ + 1]] - sizes_[at()]; }
  double slope() const {
    return (value_[hull_[position_ + 1]] - value_[at()]) / static_cast<double>(blocks());
  }
  void advance() { ++position_; }

 private:
  std::span<const Count> sizes_;
  std::span<const double> value_;
  std::vector<std::size_t> hull_;
  std::size_t position_ = 0;
};

}  // namespace

double tie_of(const AllocationProblem& problem) {
  double range = 0;
  for (const auto& tables : problem.value) {
    for (const auto& table : tables) {
      const auto [least, most] = std::ranges::minmax(table);
      range += most - least;
    }
  }
  return kTie * range;
}

std::vector<std::size_t> upper_hull(std::span<const Count> sizes, std::span<const double> value,
                                    std::size_t low, std::size_t high) {
  const auto [least, most] = std::ranges::minmax(value.subspan(low, high - low + 1));
  const double tolerance = kTie * (most - least);
  const auto below_chord = [&](std::size_t a, std::size_t b, std::size_t c) {
    // With many VMs, most sizes add no gain for most VMs; such ranges are not computed.
    if (value[a] == value[c] && value[b] >= value[a]) return false;
    const double along =
        static_cast<double>(sizes[b] - sizes[a]) / static_cast<double>(sizes[c] - sizes[a]);
    return value[b] < value[a] + along * (value[c] - value[a]) - tolerance;
  };
  std::vector<std::size_t> hull;
  hull.reserve(high - low + 1);
  for (std::size_t i = low; i <= high; ++i) {
    while (hull.size() >= 2 && below_chord(hull[hull.size() - 2], hull.back(), i)) hull.pop_back();
    hull.push_back(i);
  }
  return hull;
}

Count common_step(std::span<const Count> sizes) {
  Count step = 0;
  for (const Count size : sizes) step = std::gcd(step, size);
  return std::max<Count>(step, 1);
}

AllocationProblem cumulative_tier(const AllocationProblem& problem, std::size_t tier) {
  const Limits limits = closed_limits(problem);
  const Count step = common_step(problem.sizes);
  AllocationProblem alone;
  alone.sizes = problem.sizes;
  alone.capacities = {0};
  for (std::size_t k = 0; k <= tier; ++k) {
    alone.capacities[0] += problem.capacities[k] / step * step;
  }
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    alone.value.push_back({problem.value[v][tier]});
    alone.lowest.push_back({limits.low[v][tier]});
    alone.highest.push_back({limits.high[v][tier]});
  }
  return alone;
}

HullWalk walk_hulls(const AllocationProblem& problem) {
  HullWalk walk;
  std::vector<HullPath> paths;
  paths.reserve(problem.vms());
  const Count step = common_step(problem.sizes);
  Count left = problem.capacities[0] / step * step;
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    const HullPath& path = paths.emplace_back(problem, v);
    left -= problem.sizes[path.at()];
    walk.evaluations += static_cast<Count>(problem.high(v, 0) - problem.low(v, 0) + 1);
  }
  std::priority_queue<Step> steps;
  const auto push = [&](std::size_t v) {
    const HullPath& path = paths[v];
    if (path.done() || path.slope() <= 0) return;
    steps.push({path.slope(), rounded_slope(path.slope()), problem.sizes[path.at()], v});
  };
  for (std::size_t v = 0; v < paths.size(); ++v) push(v);

  while (!steps.empty() && paths[steps.top().vm].blocks() <= left) {
    const std::size_t v = steps.top().vm;
    steps.pop();
    left -= paths[v].blocks();
    paths[v].advance();
    push(v);
  }
  for (const HullPath& path : paths) walk.choice.push_back({path.at()});
  walk.upper_bound = objective_of(problem, walk.choice);
  if (!steps.empty()) walk.price = steps.top().slope;
  walk.upper_bound += walk.price * static_cast<double>(left);
  return walk;
}

double relaxed_bound(const AllocationProblem& problem) {
  if (problem.tiers() == 1) return walk_hulls(problem).upper_bound;
  double bound = 0;
  for (std::size_t k = 0; k < problem.tiers(); ++k) {
    bound += walk_hulls(cumulative_tier(problem, k)).upper_bound;
  }
  return bound;
}

}  // namespace mcsim
