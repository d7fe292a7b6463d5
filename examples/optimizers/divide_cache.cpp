#include <cstdio>

#include "optimizers/registry.hpp"

// Divides four blocks between two VMs whose hits at 0 to 4 blocks are known.
int main() {
  mcsim::AllocationProblem problem;
  problem.sizes = {0, 1, 2, 3, 4};
  problem.capacities = {4};
  problem.value = {{{0, 10, 18, 24, 25}}, {{0, 3, 5, 6, 7}}};

  const auto optimizer = mcsim::optimizer_registry().make("exact", {}, {});
  if (!optimizer.ok()) return 1;
  const auto solution = (*optimizer)->solve(problem);
  if (!solution.ok()) return 1;
  const mcsim::Allocation parts = solution->allocation(problem);
  std::printf("%lld and %lld blocks, %.0f hits\n", static_cast<long long>(parts.at(0, 0)),
              static_cast<long long>(parts.at(0, 1)), solution->objective);
}
