#pragma once

#include "core/base/params.hpp"
#include "core/engine/run/allocation.hpp"

namespace mcsim {

// Lagrangian relaxation: every tier's space gets a price, every VM
// alone takes the sizes worth most at those prices, and the prices at which that
// costs least bound the optimum. They are found by the ellipsoid method, which
// for one tier is bisection. The best allocation met on the way that fits is
// grown by look-ahead, and look-ahead alone is the other candidate.
//
// The bound of one tier equals the optimum over concave hulls. Any number of
// tiers T; O(V T n) per price, of which O(T^2) times the digits wanted are tried.
class Lagrangian final : public Optimizer {
 public:
  struct Params {
    Count iterations = 2'000;

    static constexpr auto fields() {
      return std::tuple{Field{"iterations", &Params::iterations,
                              "prices tried at most; it stops when the bound is tight", 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "lagrangian",
      .summary = "Price the tiers' space: a tight bound and a near-optimal allocation, fast.",
      .reference = "Everett, Operations Research 11(3), 1963; Yudin and Nemirovski, 1976"};

  Lagrangian(Params params, OptimizerContext) : params_(params) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
};

}  // namespace mcsim
