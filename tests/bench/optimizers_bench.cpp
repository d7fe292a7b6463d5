// Time per solution, and the gap it proves, of every optimiser that needs no
// outside solver, on problems of the size that controllers pose every interval.
#include <utility>

#include <benchmark/benchmark.h>

#include "optimizers/registry.hpp"
#include "tests/support/problems.hpp"

namespace mcsim {
namespace {

using testing::Shape;

void solve(benchmark::State& state, const char* name, const AllocationProblem& problem) {
  const auto optimizer = optimizer_registry().make(name, {}, {});
  double gap = 0;
  for (auto _ : state) {
    const auto solution = (*optimizer)->solve(problem);
    if (!solution.ok()) {
      state.SkipWithError(message_of(solution.status()).c_str());
      break;
    }
    gap = (solution->upper_bound - solution->objective) / solution->upper_bound;
  }
  state.counters["gap"] = gap;
}

// Rising values without shape, another curve for every tier: no choice is
// dominated and the tiers' own optima clash, the worst case of the exact method.
AllocationProblem shapeless(std::size_t vms, std::size_t sizes, std::vector<Count> capacities) {
  Random random(1);
  AllocationProblem problem =
      testing::random_problem(Shape::kCliffs, vms, sizes, std::move(capacities), random);
  for (auto& tables : problem.value) {
    for (auto& table : tables) {
      double value = 0;
      for (double& worth : table) worth = std::exchange(value, value + random.uniform());
    }
  }
  return problem;
}

bool takes_several_tiers(const char* name) {
  AllocationProblem problem;
  problem.sizes = {0, 1};
  problem.capacities = {1, 1};
  problem.value = {{{0, 1}, {0, 1}}};
  return (*optimizer_registry().make(name, {}, {}))->solve(problem).ok();
}

int register_all() {
  Random random(1);
  const std::pair<const char*, AllocationProblem> problems[] = {
      {"concave/V=16,G=1000", testing::random_problem(Shape::kConcave, 16, 1001, {1000}, random)},
      {"shapeless/V=16,G=1000", shapeless(16, 1001, {1000})},
      {"joint/V=4,G=20x200", shapeless(4, 221, {20, 200})},
      {"joint/V=36,G=100x100", shapeless(36, 101, {100, 100})},
  };
  for (const auto& entry : optimizer_registry().entries()) {
    const std::string name = entry.info.name;
    if (name == "ilp") continue;
    for (const auto& [label, problem] : problems) {
      if (problem.tiers() > 1 && !takes_several_tiers(entry.info.name)) continue;
      benchmark::RegisterBenchmark((name + "/" + label).c_str(), solve, entry.info.name, problem)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return 0;
}

const int kRegistered = register_all();

}  // namespace
}  // namespace mcsim
