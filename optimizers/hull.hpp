#pragma once

#include <span>
#include <vector>

#include "core/engine/run/allocation.hpp"

// Concave hulls of value curves and the relaxation they solve: what
// dividing space would be worth if a VM could have any point of its hull. That
// optimum is found exactly by a greedy walk and bounds every real allocation.
namespace mcsim {

// Values nearer than this share of their range are ties: the difference is
// rounding, not preference.
inline constexpr double kTie = 1e-12;

// The indices of [low, high] at which `value` lies on its upper concave hull
// over `sizes` (monotone chain). Points on a straight stretch are kept, so only
// a step that crosses points strictly below the hull is longer than one.
// O(high - low).
std::vector<std::size_t> upper_hull(std::span<const Count> sizes, std::span<const double> value,
                                    std::size_t low, std::size_t high);

// Tiers 0..`tier` of a problem seen as one. It forgets the other tiers' demands,
// so its optimum bounds what they can add to the objective.
AllocationProblem cumulative_tier(const AllocationProblem& problem, std::size_t tier);

// Where the greedy walk over the hulls of one tier stopped: every VM at a point
// of its hull, because nothing gains any more or the steepest step left does not
// fit.
struct HullWalk {
  std::vector<std::vector<std::size_t>> choice;
  double upper_bound = 0;
  double price = 0;  // of a block: what the next step would gain, or nothing does
  Count evaluations = 0;
};

// O(V n + S log V) for S steps.
HullWalk walk_hulls(const AllocationProblem& problem);

// The sum of the tiers' relaxed optima: no feasible allocation is worth more.
double relaxed_bound(const AllocationProblem& problem);

// The greatest common divisor of all sizes (1 if there is only size 0): capacity
// is usable in multiples of it alone.
Count common_step(std::span<const Count> sizes);

}  // namespace mcsim
