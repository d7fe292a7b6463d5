#pragma once

#include "core/base/params.hpp"
#include "core/engine/run/allocation.hpp"

namespace mcsim {

// Simulated annealing: moves of a few units from one VM to another, or
// to and from free space, accepted if they gain or else with probability
// exp(gain / T) at a falling temperature T. Starts from the better of the equal
// split and the greedy solution and returns the best allocation it saw, so it is
// never worse than its start; a start that meets the upper bound, as on concave
// curves, is returned at once.
//
// With several tiers a move shifts the cumulative sizes of a range of tiers by
// the same amount, which leaves what every tier holds in all as it was. Needs
// equal distances between sizes. O(T) per iteration.
//
// The defaults cool more slowly and move farther than is usual (0.995, 0.05),
// whose search freezes in front of cliffs.
class Annealing final : public Optimizer {
 public:
  struct Params {
    Count iterations = 10'000;
    double start_temperature = 0.1;
    double cooling = 0.9995;
    double stride = 1.0;

    static constexpr auto fields() {
      return std::tuple{
          Field{"iterations", &Params::iterations, "neighbours tried", 1},
          Field{"start_temperature", &Params::start_temperature,
                "as a share of the objective's range over 100 random neighbours", 0},
          Field{"cooling", &Params::cooling, "factor on the temperature after each iteration", 0,
                1},
          Field{"stride", &Params::stride, "longest move, as a share of the tier", 0, 1}};
    }
  };
  static constexpr ComponentInfo kInfo{
      .name = "annealing",
      .summary = "Anneal unit moves between VMs, from the greedy solution on.",
      .reference = "Kirkpatrick, Gelatt and Vecchi, Science 220, 1983"};

  Annealing(Params params, OptimizerContext context) : params_(params), seed_(context.seed) {}

  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override;

 private:
  Params params_;
  std::uint64_t seed_;
};

}  // namespace mcsim
