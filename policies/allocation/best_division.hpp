#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/engine/model/allocation.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/locality/profile/running_curve.hpp"

// The best division of all tiers at once, for LRU tiers in an exclusive chain where each VM has its
// own partition. The hits of a VM in tiers 0..k are the hits on its curve at its blocks in these
// tiers.
namespace mcsim {

// The value of a hit.
enum class HitWorth : std::uint8_t {
  kHits,     // 1 in any tier; equal hit counts favour faster tiers
  kLatency,  // the time that a read hit saves against the backend
};

template <>
struct Choices<HitWorth> {
  static constexpr std::array names{std::pair{"hits", HitWorth::kHits},
                                    std::pair{"latency", HitWorth::kLatency}};
};

// Return for each tier the gain of a hit there over a hit in the next slower tier. Fails if a gain
// is negative, that is if a tier is slower than the next one.
absl::StatusOr<std::vector<double>> gains_of(const Machine& machine, HitWorth worth);

// Return a meter of the hits that count. The latency objective counts hits of reads only: writes
// wait for the backend, or for the tier that takes them, whether they hit or not.
CurveMeter curve_for(HitWorth worth, CurveMeter of);

// Hits of each VM at the sizes 0, unit, 2 unit, …
struct HitTable {
  Count unit = 1;
  std::vector<std::vector<double>> hits;  // [vm][i] of i * unit blocks

  double at(std::size_t vm, Count blocks) const;  // at the largest tabulated size <= blocks
};

// Tabulate the curves up to `most` blocks, rounded up to a multiple of `unit`.
HitTable hits_of(std::span<const RunningCurve> curves, Count unit, Count most);

struct BestDivision {
  Allocation targets;  // use all space
  // Proven upper bound over all divisions into multiples of the unit, or over all divisions if that
  // was requested.
  double upper_bound = 0;
  Count evaluations = 0;
};

// Divide the tiers from the slowest to the fastest. Each step divides a tier together with all
// faster ones as one cache; a VM's share is limited by its share of the previous step. The result
// is optimal for the hits objective. For other objectives it is optimal if no limit binds; if one
// binds and the problem is small, `optimizer` solves all tiers jointly.
absl::StatusOr<BestDivision> best_division(const HitTable& table, std::span<const Count> capacities,
                                           std::span<const double> gains, Optimizer& optimizer,
                                           bool bound_all_sizes = false);

// Divide by curves, tabulated at `grid` sizes. The number of sizes is halved while the optimizer
// refuses the problem.
absl::StatusOr<BestDivision> best_of(std::span<const RunningCurve> curves,
                                     std::span<const Count> capacities,
                                     std::span<const double> gains, Count grid,
                                     Optimizer& optimizer, bool bound_all_sizes = false);

// Return that division as a decision, with its value on these curves.
absl::StatusOr<Decision> best_decision(std::span<const RunningCurve> curves, const Machine& machine,
                                       std::span<const double> gains, Count grid,
                                       Optimizer& optimizer, bool bound_all_sizes = false);

// Sum the value of the hits of an allocation. `hits(vm, blocks)` returns the hits of a VM.
template <class Hits>
double worth_of(const Allocation& targets, std::span<const double> gains, Hits hits) {
  double worth = 0;
  for (std::size_t v = 0; v < targets.vms(); ++v) {
    Count blocks = 0;
    for (std::size_t k = 0; k < targets.tiers(); ++k) {
      blocks += targets.at(k, v);
      if (gains[k] > 0) worth += gains[k] * static_cast<double>(hits(v, blocks));
    }
  }
  return worth;
}

// Return the capacities of the tiers, the fastest first.
std::vector<Count> capacities_of(const Machine& machine);

}  // namespace mcsim
