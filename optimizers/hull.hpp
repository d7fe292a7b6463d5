#pragma once

#include <span>
#include <vector>

#include "core/engine/model/allocation.hpp"

// Concave hulls of value curves and the relaxation that they solve: the value of a division in
// which a VM may have any point of its hull. A greedy walk finds that optimum exactly, and it is an
// upper bound of every real allocation.
namespace mcsim {

// Values within this share of their range are ties, since the difference is rounding.
inline constexpr double kTie = 1e-12;

// Return the difference of objectives below which they are ties: kTie of the sum of all tables'
// ranges. It follows the scale of the values.
double tie_of(const AllocationProblem& problem);

// Return the indices of [low, high] at which `value` lies on its upper concave hull over `sizes`
// (monotone chain). Points on straight segments are kept, so only steps across points strictly
// below the hull are longer than one. O(high - low).
std::vector<std::size_t> upper_hull(std::span<const Count> sizes, std::span<const double> value,
                                    std::size_t low, std::size_t high);

// Return tiers 0..`tier` of a problem as one tier. Demands of other tiers are ignored, so its
// optimum bounds what these tiers can add to the objective.
AllocationProblem cumulative_tier(const AllocationProblem& problem, std::size_t tier);

// The end of a greedy walk over the hulls of one tier: every VM is at a point of its hull, because
// no step gains or the steepest remaining step does not fit.
struct HullWalk {
  std::vector<std::vector<std::size_t>> choice;
  double upper_bound = 0;
  double price = 0;  // price per block: gain of the next step, 0 if none gains
  Count evaluations = 0;
};

// Walk the hulls of a problem with one tier. O(V n + S log V) for S steps.
HullWalk walk_hulls(const AllocationProblem& problem);

// Return the sum of the tiers' relaxed optima: an upper bound of all feasible allocations.
double relaxed_bound(const AllocationProblem& problem);

// Return the greatest common divisor of all sizes (1 if all are 0): capacity is usable only in
// multiples of it.
Count common_step(std::span<const Count> sizes);

}  // namespace mcsim
