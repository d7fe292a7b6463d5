#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim {

// Lagrangian relaxation: the space of every tier has a price, and every VM takes the sizes with the
// greatest value after price. The minimum over all prices is an upper bound of the optimum. The
// ellipsoid method finds it, which is bisection for one tier. The best feasible allocation on the
// way is extended by look-ahead; look-ahead alone is the other candidate.
//
// The bound of one tier equals the optimum over concave hulls. Any number of tiers T; O(V T n) per
// price vector. The number of price vectors is O(T^2) times the number of digits.
class Lagrangian final : public Optimizer {
 public:
  struct Params {
    Count iterations = 2'000;

    static constexpr auto fields() {
      return std::tuple{Field{
          "iterations", &Params::iterations,
          "maximum number of price vectors tried; the search stops when the bound is tight", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "lagrangian",
      .summary =
          "Prices the space of the tiers: gives a tight bound and a near-optimal allocation in "
          "short time.",
      .reference = "Everett, Operations Research 11(3), 1963; Yudin and Nemirovski, 1976"};

  Lagrangian(Params params, OptimizerContext) : params_(params) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
};

}  // namespace mcsim
