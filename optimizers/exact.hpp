#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim {

// The optimum, by dynamic programming over the blocks used of every tier, in steps of the sizes'
// common divisor. best[v][u] is the greatest value of VMs 0..v within u blocks: a (max,+) product
// of best[v-1] and the values of v. There are two shortcuts. A hull walk that meets its own bound
// is optimal, and so are the separate optima of the tiers if they fit together. Otherwise the walk
// gives a price of space and a gap to its bound. A size is in no optimum if its value, less the
// price of its space, is below the VM's best by more than the gap; for a single tier such sizes are
// skipped.
//
// One tier of G steps takes O(V G O) time and O(V G) memory for O remaining options of a VM: a few
// if curves are nearly concave, G at worst. Several tiers take O(V S O) time and O(V S) memory for
// S = prod G_k states and O undominated options. A problem above `work_limit` is refused.
class Exact final : public Optimizer {
 public:
  struct Params {
    Count work_limit = 20'000'000'000;

    static constexpr auto fields() {
      return std::tuple{Field{"work_limit", &Params::work_limit,
                              "maximum number of (max,+) steps; larger problems are refused", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "exact",
      .summary = "Finds the optimum of one tier, or of several jointly, by dynamic programming.",
      .reference = "Kellerer, Pferschy and Pisinger, Knapsack Problems, Springer, 2004, ch. 11"};

  Exact(Params params, OptimizerContext) : params_(params) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
};

}  // namespace mcsim
