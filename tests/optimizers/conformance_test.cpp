// Trusts: what core/engine/model/allocation.hpp promises of every optimiser, and
// exhaustive search. Runs over the one list: a new optimiser is tested by being
// in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizers/registry.hpp"
#include "tests/support/binary_program_solver.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/problems.hpp"

namespace mcsim {
namespace {

using testing::BruteForce;
using testing::random_problem;
using testing::Shape;

class EveryOptimizer : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Optimizer> make(std::uint64_t seed = 1, ParamMap params = {}) const {
    for (const char* name : {"annealing", "annealing-legacy"}) {
      if (GetParam() == name) params.try_emplace("iterations", std::int64_t{500});
    }
    OptimizerContext context{.seed = seed, .binary_program_solver = testing::search_binary_program};
    auto made = optimizer_registry().make(GetParam(), params, context);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  Solution solve(const AllocationProblem& problem) const {
    const auto solution = make()->solve(problem);
    EXPECT_TRUE(solution.ok()) << solution.status();
    return *solution;
  }

  bool takes_several_tiers() const {
    AllocationProblem problem;
    problem.sizes = {0, 1};
    problem.capacities = {1, 1};
    problem.value = {{{0, 1}, {0, 1}}};
    const auto solution = make()->solve(problem);
    if (solution.ok()) return true;
    EXPECT_EQ(solution.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(message_of(solution.status()),
                ::testing::HasSubstr(GetParam() + " divides one tier, the problem has 2"));
    return false;
  }

  // Feasible, no better than the best, and the bound no lower than the best.
  void expect_honest(const AllocationProblem& problem) const {
    const Solution solution = solve(problem);
    const absl::Status feasible = check_feasible(problem, solution.choice);
    ASSERT_TRUE(feasible.ok()) << feasible;
    EXPECT_DOUBLE_EQ(solution.objective, objective_of(problem, solution.choice));
    const double best = BruteForce(problem).best();
    EXPECT_LE(solution.objective, best + 1e-9);
    EXPECT_GE(solution.upper_bound, best - 1e-9);
    EXPECT_GE(solution.upper_bound, solution.objective);
  }
};

constexpr Shape kShapes[] = {Shape::kConcave, Shape::kCliffs, Shape::kWild};

TEST_P(EveryOptimizer, IsHonestAboutOneTier) {
  Random random(11);
  for (const Shape shape : kShapes) {
    for (int round = 0; round < 8; ++round) {
      AllocationProblem problem = random_problem(shape, 3, 6, {7}, random);
      if (round % 2 == 1) testing::add_bounds(problem, random);
      expect_honest(problem);
    }
  }
}

TEST_P(EveryOptimizer, IsHonestAboutSeveralTiersOrRefusesThem) {
  if (!takes_several_tiers()) return;
  Random random(12);
  for (const Shape shape : kShapes) {
    for (int round = 0; round < 8; ++round) {
      const std::vector<Count> capacities =
          round < 6 ? std::vector<Count>{2, 4} : std::vector<Count>{1, 2, 2};
      AllocationProblem problem = random_problem(shape, 2, round < 6 ? 5 : 4, capacities, random);
      if (round % 2 == 1) testing::add_bounds(problem, random);
      expect_honest(problem);
    }
  }
}

TEST_P(EveryOptimizer, IsDeterministic) {
  Random random(13);
  for (const Shape shape : kShapes) {
    const AllocationProblem problem = random_problem(shape, 3, 8, {9}, random);
    const auto optimizer = make();
    const auto first = optimizer->solve(problem);
    const auto again = optimizer->solve(problem);
    ASSERT_TRUE(first.ok() && again.ok());
    EXPECT_EQ(first->choice, again->choice);
    EXPECT_EQ(first->choice, solve(problem).choice);
    EXPECT_EQ(first->upper_bound, again->upper_bound);
  }
}

TEST_P(EveryOptimizer, IgnoresTheScaleOfValues) {
  Random random(14);
  const ParamMap params =
      GetParam() == "annealing-legacy" ? ParamMap{{"whole_percent", false}} : ParamMap{};
  for (int round = 0; round < 6; ++round) {
    const AllocationProblem problem = random_problem(kShapes[round % 3], 3, 7, {9}, random);
    const auto before = make(1, params)->solve(problem);
    ASSERT_TRUE(before.ok());
    for (const double factor : {3.7, 0x1p-40, 0x1p40}) {
      AllocationProblem scaled = problem;
      for (auto& tables : scaled.value) {
        for (double& value : tables[0]) value *= factor;
      }
      const auto after = make(1, params)->solve(scaled);
      ASSERT_TRUE(after.ok());
      EXPECT_EQ(before->choice, after->choice) << factor;
      EXPECT_NEAR(after->upper_bound / factor, before->upper_bound, 1e-12) << factor;
    }
  }
}

// The least gains are below the rounding of the largest gain, and still decide.
TEST_P(EveryOptimizer, HasATrueBoundOfCurvesOfMixedScales) {
  AllocationProblem problem;
  problem.sizes = {0, 1, 1'000'000};
  problem.capacities = {1'000'001};
  problem.value = {{{0, 1, 1}}, {{0, 2e-13, 2e-7}}, {{0, 4e-13, 4e-7}}};
  auto optimizer = make();
  const auto solution = optimizer->solve(problem);
  if (!solution.ok() && GetParam() == "annealing") return;  // it needs equally spaced sizes
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_GE(solution->upper_bound, 1 + 4e-7 - 4e-12);
}

TEST_P(EveryOptimizer, GivesEqualCurvesEqualShares) {
  Random random(15);
  for (const Count capacity : {6, 7, 8}) {
    const std::vector<double> curve = testing::random_curve(Shape::kConcave, 7, random);
    const AllocationProblem problem = testing::one_tier(capacity, {curve, curve, curve});
    for (const auto& choice : solve(problem).choice) {
      EXPECT_GE(choice[0], static_cast<std::size_t>(capacity / 3)) << capacity;
      EXPECT_LE(choice[0], static_cast<std::size_t>((capacity + 2) / 3)) << capacity;
    }
  }
}

TEST_P(EveryOptimizer, LeavesNoSpaceThatCouldBeGiven) {
  if (GetParam() == "annealing-legacy") return;  // its caller scales the solution up
  Random random(16);
  for (int round = 0; round < 10; ++round) {
    AllocationProblem problem = random_problem(Shape::kCliffs, 3, 6, {9}, random);
    problem.sizes = testing::units(6, 4);
    problem.capacities = {42};  // ten units and a half: two blocks stay
    if (round % 2 == 1) problem.highest = {{1}, {3}, {5}};
    const Allocation blocks = solve(problem).allocation(problem);
    const auto tier = blocks.tier(0);
    EXPECT_EQ(std::accumulate(tier.begin(), tier.end(), Count{0}), round % 2 == 1 ? 36 : 40);
  }
}

TEST_P(EveryOptimizer, SpreadsWorthlessSpaceEqually) {
  if (GetParam() == "annealing-legacy") return;
  const std::vector<double> flat(9, 0.0);
  const AllocationProblem problem = testing::one_tier(8, {flat, flat, flat});
  const Allocation blocks = solve(problem).allocation(problem);
  EXPECT_THAT(std::vector<Count>(blocks.tier(0).begin(), blocks.tier(0).end()),
              ::testing::ElementsAre(3, 3, 2));
}

TEST_P(EveryOptimizer, HandlesTheSmallestProblems) {
  const AllocationProblem nothing = testing::one_tier(0, {{0.0, 1.0}, {0.0, 1.0}});
  EXPECT_EQ(solve(nothing).choice, (std::vector<std::vector<std::size_t>>{{0}, {0}}));
  const AllocationProblem one_size = testing::one_tier(0, {{0.0}, {0.0}});
  EXPECT_EQ(solve(one_size).choice, (std::vector<std::vector<std::size_t>>{{0}, {0}}));
  const AllocationProblem alone = testing::one_tier(5, {{0.0, 1.0}});
  EXPECT_EQ(solve(alone).objective, 1.0);
}

TEST_P(EveryOptimizer, RefusesAProblemThatContradictsItself) {
  AllocationProblem problem = testing::one_tier(3, {{0.0, 1.0}, {0.0, 1.0}});
  problem.capacities[0] = -3;
  EXPECT_EQ(message_of(make()->solve(problem).status()), "capacities[0]: -3 is negative");
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const auto& entry : optimizer_registry().entries()) list.emplace_back(entry.info.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, EveryOptimizer, ::testing::ValuesIn(names()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(OptimizerRegistry, NamesAreUnique) {
  std::vector<std::string> sorted = names();
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
}

TEST(OptimizerRegistry, MistakesNameTheOptimizer) {
  EXPECT_EQ(message_of(optimizer_registry().make("exat", {}, {}).status()),
            "unknown optimizer 'exat' (did you mean 'exact'?)");
  EXPECT_EQ(
      message_of(
          optimizer_registry().make("annealing", {{"iterations", std::int64_t{0}}}, {}).status()),
      "annealing: iterations: 0 is outside [1, inf]");
}

}  // namespace
}  // namespace mcsim
