#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/run/allocation.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/locality/profile/running_curve.hpp"

// The best division of all tiers at once for LRU in an exclusive chain, each VM in parts of its
// own: there a VM hits in tiers 0..k what its curve says of all their blocks together.
namespace mcsim {

// What a hit counts for.
enum class HitWorth : std::uint8_t {
  kHits,     // 1, in any tier; of as many hits, more are in faster tiers
  kLatency,  // the time that a read saves against the backend
};

template <>
struct Choices<HitWorth> {
  static constexpr std::array names{std::pair{"hits", HitWorth::kHits},
                                    std::pair{"latency", HitWorth::kLatency}};
};

// By tier, what a hit gains from being there and not in the next slower one. Fails where that
// is negative: a tier that is slower than the next has no best use.
absl::StatusOr<std::vector<double>> gains_of(const Machine& machine, HitWorth worth);

// The meter of the hits that count: for latency those of reads, since writes wait for the backend
// or for the tier that takes them, whatever they hit.
CurveMeter curve_for(HitWorth worth, CurveMeter of);

// What is known of the VMs: hits at the sizes 0, unit, 2 unit, …
struct HitTable {
  Count unit = 1;
  std::vector<std::vector<double>> hits;  // [vm][i] of i * unit blocks

  double at(std::size_t vm, Count blocks) const;  // of the size below
};

// `most` blocks are the last of the sizes, or what is next above that is one.
HitTable hits_of(std::span<const RunningCurve> curves, Count unit, Count most);

struct BestDivision {
  Allocation targets;  // which leave no space unused
  // Proven: no division into multiples of the unit is worth more; or, if asked for so, no
  // division at all.
  double upper_bound = 0;
  Count evaluations = 0;
};

// Tiers are divided one after the other, the slowest first, each with all faster ones together
// as one cache, and within what the slower ones left to each VM. That is the best there is where
// hits count as such, and elsewhere if what a VM gets is within that limit anyway; where it is
// not and the problem is small, `optimizer` has all tiers at once.
absl::StatusOr<BestDivision> best_division(const HitTable& table, std::span<const Count> capacities,
                                           std::span<const double> gains, Optimizer& optimizer,
                                           bool bound_all_sizes = false);

// The same from curves, at `grid` sizes, or fewer where the optimizer refuses so many.
absl::StatusOr<BestDivision> best_of(std::span<const RunningCurve> curves,
                                     std::span<const Count> capacities,
                                     std::span<const double> gains, Count grid,
                                     Optimizer& optimizer, bool bound_all_sizes = false);

// The decision for that, with what it is worth by these curves.
absl::StatusOr<Decision> best_decision(std::span<const RunningCurve> curves, const Machine& machine,
                                       std::span<const double> gains, Count grid,
                                       Optimizer& optimizer, bool bound_all_sizes = false);

// Σ of what the hits are worth; `hits` of a VM and blocks.
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

// The capacities of the tiers, the fastest first.
std::vector<Count> capacities_of(const Machine& machine);

}  // namespace mcsim
