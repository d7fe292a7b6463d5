#pragma once

#include "core/base/params.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim {

// Simulated annealing: moves a few units between two VMs, or between a VM and free space. A move is
// accepted if it gains, else with probability exp(gain / T) at a falling temperature T. The search
// starts from the better of the equal split and the greedy solution and returns the best allocation
// visited, so the result is never worse than the start. A start that meets the upper bound, as on
// concave curves, is returned at once.
//
// With several tiers, a move shifts the cumulative sizes of a range of tiers by the same amount, so
// that the total of every tier is unchanged. The distances between sizes must be equal. O(T) per
// iteration.
//
// The defaults cool more slowly and move farther than usual (0.995, 0.05): with the usual values
// the search freezes in front of cliffs.
class Annealing final : public Optimizer {
 public:
  struct Params {
    Count iterations = 10'000;
    double start_temperature = 0.1;
    double cooling = 0.9995;
    double stride = 1.0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"iterations", &Params::iterations, "number of neighbours tried", 1},
          Field{"start_temperature", &Params::start_temperature,
                "initial temperature, as a share of the range of the objective over 100 random "
                "neighbours",
                0},
          Field{"cooling", &Params::cooling, "factor on the temperature after each iteration", 0,
                1},
          Field{"stride", &Params::stride, "longest move, as a share of the tier", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "annealing",
      .summary =
          "Moves units of space between VMs by simulated annealing, from the greedy solution.",
      .reference = "Kirkpatrick, Gelatt and Vecchi, Science 220, 1983"};

  Annealing(Params params, OptimizerContext context) : params_(params), seed_(context.seed) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
  std::uint64_t seed_;
};

}  // namespace mcsim
