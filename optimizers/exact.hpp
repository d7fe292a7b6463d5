#pragma once

#include "core/base/params.hpp"
#include "core/engine/run/allocation.hpp"

namespace mcsim {

// The optimum, by dynamic programming over the blocks used of every tier, in
// steps of the sizes' common divisor: best[v][u] is the most that VMs 0..v are
// worth within u blocks, a (max,+) product of best[v-1] and v's own values.
// Two shortcuts come first: a walk over hulls that lands on its
// own bound is already optimal, and so are the tiers' separate optima if they
// fit together. Where the walk does not, it leaves a price of space and a gap to
// its bound; a size that is worth less than the VM's best by more than the gap,
// space paid for, is in no optimum, and of one tier such sizes are not tried.
//
// One tier of G steps costs O(V G O) time and O(V G) memory for O options of a VM
// that are left, a few where curves are nearly concave and G at worst; several cost
// O(V S O) and O(V S) for S = prod G_k states and O undominated options.
// A problem that costs more than `work_limit` is refused.
class Exact final : public Optimizer {
 public:
  struct Params {
    Count work_limit = 20'000'000'000;

    static constexpr auto fields() {
      return std::tuple{Field{"work_limit", &Params::work_limit,
                              "refuse problems that take more (max,+) steps than this", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "exact",
      .summary = "Find the optimum of one tier or of several jointly by dynamic programming.",
      .reference = "Kellerer, Pferschy and Pisinger, Knapsack Problems, Springer, 2004, ch. 11"};

  Exact(Params params, OptimizerContext) : params_(params) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
};

}  // namespace mcsim
