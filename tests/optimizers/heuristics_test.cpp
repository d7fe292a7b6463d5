// Trusts: published worked examples, exhaustive search, and the
// exact optimiser, which is held to exhaustive search in its own test.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizers/all.hpp"
#include "tests/support/binary_program_solver.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/problems.hpp"

namespace mcsim {
namespace {

using testing::BruteForce;
using ::testing::HasSubstr;
using testing::one_tier;
using testing::random_problem;
using testing::Shape;

template <class Method>
Solution solve(const AllocationProblem& problem, typename Method::Params params = {},
               OptimizerContext context = {}) {
  const auto solution = Method(params, std::move(context)).solve(problem);
  EXPECT_TRUE(solution.ok()) << solution.status();
  EXPECT_TRUE(check_feasible(problem, solution->choice).ok());
  return *solution;
}

// A flat before a cliff, which marginal gains of one unit never cross.
const AllocationProblem kPlateau = one_tier(2, {{0, 0, 1}, {0, .01, .02}});

TEST(Greedy, CrossesAPlateauOnItsHull) {
  EXPECT_DOUBLE_EQ(solve<Greedy>(kPlateau).objective, 1.0);
  EXPECT_DOUBLE_EQ(solve<Greedy>(kPlateau).upper_bound, 1.0);
}

TEST(Greedy, FillsWhatAStepTooLongLeaves) {
  AllocationProblem problem = kPlateau;
  problem.capacities = {1};
  const Solution solution = solve<Greedy>(problem);
  EXPECT_DOUBLE_EQ(solution.objective, .01);
  EXPECT_DOUBLE_EQ(solution.upper_bound, .5);  // half of the cliff's chord
}

TEST(Greedy, IsOptimalOnConcaveCurves) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    const AllocationProblem problem = random_problem(Shape::kConcave, 3, 7, {8}, random);
    const Solution solution = solve<Greedy>(problem);
    EXPECT_NEAR(solution.objective, BruteForce(problem).best(), 1e-12);
    EXPECT_NEAR(solution.upper_bound, solution.objective, 1e-12);
  }
}

// A slope of 4e-13 is more than one of 2e-13, next to a slope of 1, too.
TEST(Greedy, IsOptimalOnConcaveCurvesOfMixedScales) {
  AllocationProblem problem;
  problem.sizes = {0, 1, 1'000'000};
  problem.capacities = {1'000'001};
  problem.value = {{{0, 1, 1}}, {{0, 2e-13, 2e-7}}, {{0, 4e-13, 4e-7}}};
  EXPECT_DOUBLE_EQ(solve<Greedy>(problem).objective, 1 + 4e-7);
}

TEST(Lookahead, SeesACliffFromItsFoot) {
  EXPECT_DOUBLE_EQ(solve<Lookahead>(kPlateau).objective, 1.0);
}

// The steepest step is three blocks long and leaves one that helps nobody; the
// optimum gives all four to the other VM.
TEST(Lookahead, IsAHeuristic) {
  const AllocationProblem problem = one_tier(4, {{0, 0, 0, 1, 1}, {0, 0, 0, 0, 1.3}});
  EXPECT_DOUBLE_EQ(solve<Lookahead>(problem).objective, 1.0);
  EXPECT_DOUBLE_EQ(solve<Exact>(problem).objective, 1.3);
}

TEST(Annealing, IsWithinAThousandthOnConcaveCurves) {
  Random random(2);
  for (int round = 0; round < 10; ++round) {
    const AllocationProblem problem = random_problem(Shape::kConcave, 8, 41, {40}, random);
    const double best = solve<Exact>(problem).objective;
    EXPECT_GE(solve<Annealing>(problem).objective, best * (1 - 1e-3));
  }
}

TEST(Annealing, FindsTheOptimumOfAlmostAllSmallProblems) {
  Random random(3);
  constexpr int kRounds = 200;
  int found = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t vms = 2 + random.below(3);
    const Count capacity = 5 + static_cast<Count>(random.below(46));
    const Shape shape = round % 2 == 0 ? Shape::kCliffs : Shape::kWild;
    const AllocationProblem problem =
        random_problem(shape, vms, static_cast<std::size_t>(capacity) + 1, {capacity}, random);
    if (solve<Annealing>(problem).objective >= solve<Exact>(problem).objective - 1e-9) ++found;
  }
  EXPECT_GE(found, kRounds * 95 / 100);
}

TEST(Annealing, IsNeverWorseThanItsStart) {
  Random random(4);
  for (int round = 0; round < 50; ++round) {
    const AllocationProblem problem = random_problem(Shape::kCliffs, 4, 15, {14}, random);
    const double start =
        std::max(solve<Equal>(problem).objective, solve<Greedy>(problem).objective);
    for (const Count iterations : {1, 300}) {
      EXPECT_GE(solve<Annealing>(problem, {.iterations = iterations}).objective, start);
    }
  }
}

// From a start that greedy gets wrong, only moves find the optimum.
TEST(Annealing, LeavesAPoorStart) {
  const AllocationProblem problem = one_tier(4, {{0, 0, 0, 1, 1}, {0, 0, 0, 0, 1.3}});
  ASSERT_LT(solve<Greedy>(problem).objective, 1.3);
  EXPECT_DOUBLE_EQ(solve<Annealing>(problem).objective, 1.3);
}

TEST(Annealing, ImprovesOnSeveralTiers) {
  Random random(5);
  int better = 0;
  for (int round = 0; round < 30; ++round) {
    const AllocationProblem problem = random_problem(Shape::kCliffs, 3, 12, {4, 7}, random);
    const double start =
        std::max(solve<Equal>(problem).objective, solve<Lookahead>(problem).objective);
    const double annealed = solve<Annealing>(problem).objective;
    EXPECT_GE(annealed, start - 1e-12);
    better += annealed > start + 1e-9;
  }
  EXPECT_GT(better, 0);
}

TEST(Annealing, NeedsEquallySpacedSizes) {
  AllocationProblem problem = kPlateau;
  problem.sizes = {0, 1, 3};
  EXPECT_THAT(message_of(Annealing({}, {}).solve(problem).status()),
              HasSubstr("sizes must be equally spaced"));
}

AllocationProblem in_whole_percent(AllocationProblem problem) {
  for (auto& tables : problem.value) {
    for (double& value : tables[0]) value = std::trunc(100 * value);
  }
  return problem;
}

// Sizes as the Multi-Cache code samples them, dense below and sparse above,
// and curves that are hit ratios.
AllocationProblem random_legacy_problem(Random& random) {
  AllocationProblem problem = random_problem(Shape::kConcave, 3, 8, {16}, random);
  problem.sizes = {0, 1, 2, 3, 4, 8, 12, 16};
  for (auto& tables : problem.value) {
    for (double& value : tables[0]) value /= 8;
  }
  return problem;
}

TEST(AnnealingLegacy, FindsTheOptimumOfValuesInWholePercent) {
  Random random(6);
  for (int round = 0; round < 10; ++round) {
    const AllocationProblem problem = random_legacy_problem(random);
    const AllocationProblem percent = in_whole_percent(problem);
    const Solution solution = solve<AnnealingLegacy>(problem);
    EXPECT_EQ(objective_of(percent, solution.choice), BruteForce(percent).best());
    const Solution precise = solve<AnnealingLegacy>(problem, {.whole_percent = false});
    EXPECT_NEAR(precise.objective, BruteForce(problem).best(), 1e-9);
  }
}

TEST(AnnealingLegacy, EndsEarlyOnlyAtTheOptimum) {
  Random random(16);
  int early = 0;
  for (int round = 0; round < 60; ++round) {
    AllocationProblem problem = random_problem(Shape::kCliffs, 3, 7, {9}, random);
    for (auto& tables : problem.value) {
      for (double& value : tables[0]) value = std::trunc(10 * value) / 10;
    }
    const AllocationProblem percent = in_whole_percent(problem);
    const Solution solution = solve<AnnealingLegacy>(problem, {.iterations = 20});
    if (solution.evaluations == 20 * 3 * 7) continue;
    ++early;
    EXPECT_EQ(objective_of(percent, solution.choice), BruteForce(percent).best());
  }
  EXPECT_GT(early, 30);
}

// Below a hundredth everything is nothing; with the values as they are, VM 1's
// block is worth more.
TEST(AnnealingLegacy, CutsValuesToHundredths) {
  const AllocationProblem problem = one_tier(1, {{0, .010}, {0, .0199}});
  const AllocationProblem tiny = one_tier(1, {{.02, .0201}, {0, .0099}});
  EXPECT_DOUBLE_EQ(solve<AnnealingLegacy>(problem, {.whole_percent = false}).objective, .0199);
  EXPECT_DOUBLE_EQ(solve<AnnealingLegacy>(tiny, {.whole_percent = false}).objective, .0299);
  EXPECT_LT(solve<AnnealingLegacy>(tiny).objective, .0299);
}

// No space at all is worth something (the reuse-intensity term of Multi-Cache)
// or nothing: neither ratio is a number.
TEST(AnnealingLegacy, TakesValuesThatCostNothing) {
  const AllocationProblem problem = one_tier(2, {{.5, .6, .6}, {0, 0, .3}});
  EXPECT_DOUBLE_EQ(solve<AnnealingLegacy>(problem).objective, .8);
}

TEST(AnnealingLegacy, DependsOnItsSeedAlone) {
  Random random(8);
  const AllocationProblem problem = random_problem(Shape::kCliffs, 12, 30, {60}, random);
  const auto with_seed = [&](std::uint64_t seed) {
    OptimizerContext context;
    context.seed = seed;
    return solve<AnnealingLegacy>(problem, {.iterations = 20}, context).choice;
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
}

TEST(Lagrangian, BoundOfOneTierIsTheHullOptimum) {
  Random random(9);
  for (int round = 0; round < 40; ++round) {
    const Shape shape = round % 2 == 0 ? Shape::kCliffs : Shape::kWild;
    const AllocationProblem problem = random_problem(shape, 4, 12, {15}, random);
    const Solution solution = solve<Lagrangian>(problem);
    EXPECT_NEAR(solution.upper_bound, std::max(walk_hulls(problem).upper_bound, solution.objective),
                1e-9);
  }
}

// Pricing every tier sees the order of a VM's sizes, which the separate tiers'
// bounds forget.
TEST(Lagrangian, BoundOfSeveralTiersIsAtLeastAsTightAsTheTiersAlone) {
  Random random(10);
  for (const auto& capacities : {std::vector<Count>{3, 5}, std::vector<Count>{2, 2, 3}}) {
    for (int round = 0; round < 15; ++round) {
      const AllocationProblem problem = random_problem(Shape::kCliffs, 3, 8, capacities, random);
      const Solution solution = solve<Lagrangian>(problem);
      EXPECT_GE(solution.upper_bound, solve<Exact>(problem).objective - 1e-9);
      EXPECT_LE(solution.upper_bound, std::max(relaxed_bound(problem), solution.objective) + 1e-9);
    }
  }
}

TEST(Lagrangian, IsNeverWorseThanLookahead) {
  Random random(13);
  int better = 0;
  for (int round = 0; round < 60; ++round) {
    const AllocationProblem problem = random_problem(Shape::kCliffs, 4, 12, {4, 9}, random);
    const double priced = solve<Lagrangian>(problem).objective;
    const double unaided = solve<Lookahead>(problem).objective;
    EXPECT_GE(priced, unaided - 1e-12);
    better += priced > unaided + 1e-9;
  }
  EXPECT_GT(better, 0);
}

TEST(Lagrangian, IsOptimalOnConcaveCurves) {
  Random random(11);
  for (int round = 0; round < 30; ++round) {
    const AllocationProblem problem = random_problem(Shape::kConcave, 4, 15, {14}, random);
    EXPECT_NEAR(solve<Lagrangian>(problem).objective, solve<Exact>(problem).objective, 1e-9);
  }
}

TEST(Ilp, ProgramHasTheOptimumOfTheProblem) {
  Random random(12);
  const OptimizerContext context{.seed = 1,
                                 .binary_program_solver = testing::search_binary_program};
  for (int round = 0; round < 20; ++round) {
    const auto capacities = round % 2 == 0 ? std::vector<Count>{5} : std::vector<Count>{2, 3};
    AllocationProblem problem = random_problem(Shape::kWild, 3, 4, capacities, random);
    if (round % 4 < 2) testing::add_bounds(problem, random);
    const Solution solution = solve<Ilp>(problem, {}, context);
    EXPECT_NEAR(solution.objective, BruteForce(problem).best(), 1e-9);
    EXPECT_NEAR(solution.upper_bound, solution.objective, 1e-9);
  }
}

TEST(Ilp, SaysWhatItNeeds) {
  EXPECT_EQ(
      message_of(Ilp({}, {}).solve(kPlateau).status()),
      "ilp needs a solver for binary programs: from Python it is HiGHS (the highspy package)");
}

// Solvers have absolute tolerances, so their costs are of one size, whatever those of the problem.
TEST(Ilp, ScalesCosts) {
  for (const double factor : {1e-300, 1e-12, 1.0, 1e12, 1e300}) {
    for (const double least : {0.0, 100.0, -7.0}) {
      double largest = 0;
      const auto solver = [&](const BinaryProgram& program) {
        largest = std::ranges::max(program.cost);
        EXPECT_GE(std::ranges::min(program.cost), 0);
        return testing::search_binary_program(program);
      };
      AllocationProblem problem = one_tier(3, {{0, 1, 5, 6}, {0, 2, 3, 4}});
      for (auto& tables : problem.value) {
        for (double& value : tables[0]) value = (value + least) * factor;
      }
      const Solution solution =
          solve<Ilp>(problem, {}, {.seed = 1, .binary_program_solver = solver});
      EXPECT_GE(largest, 0x1p20);
      EXPECT_LT(largest, 0x1p21);
      EXPECT_NEAR(solution.objective / factor, 7 + 2 * least, 1e-9);
      EXPECT_NEAR(solution.upper_bound / factor, 7 + 2 * least, 1e-9);
    }
  }
  AllocationProblem flat = one_tier(3, {{4, 4, 4, 4}, {0, 0, 0, 0}});
  const Solution solution =
      solve<Ilp>(flat, {}, {.seed = 1, .binary_program_solver = testing::search_binary_program});
  EXPECT_EQ(solution.upper_bound, 4);
}

// A bound below what is reached, and an objective that is not that of the solution, are not used.
TEST(Ilp, ReplacesABoundThatItsSolutionContradicts) {
  const AllocationProblem problem = one_tier(3, {{0, 0, 0, 1}, {0, 0.5, 0.6, 0.7}});
  for (const int wrong : {0, 1, 2}) {
    const auto solver = [&](const BinaryProgram& program) -> absl::StatusOr<BinaryProgramSolution> {
      MCSIM_ASSIGN_OR_RETURN(BinaryProgramSolution answer, testing::search_binary_program(program));
      if (wrong == 1) answer.upper_bound *= 0.9;
      if (wrong == 2) answer.objective *= 0.9;
      return answer;
    };
    const Solution solution = solve<Ilp>(problem, {}, {.seed = 1, .binary_program_solver = solver});
    EXPECT_DOUBLE_EQ(solution.objective, 1);
    // The relaxation: one block of the second VM and two thirds of the chord of the first.
    EXPECT_DOUBLE_EQ(solution.upper_bound, wrong == 0 ? 1 : 0.5 + 2.0 / 3);
  }
}

TEST(Ilp, DistrustsItsSolver) {
  const auto nonsense = [](const BinaryProgram& program) -> absl::StatusOr<BinaryProgramSolution> {
    BinaryProgramSolution answer;
    answer.x.assign(program.cost.size(), 0.0);
    for (std::size_t j = 2; j < answer.x.size(); j += 3) answer.x[j] = 1;  // two blocks each
    return answer;
  };
  const AllocationProblem problem = one_tier(2, {{0, 1, 2}, {0, 1, 2}});
  EXPECT_EQ(
      message_of(Ilp({}, {.seed = 1, .binary_program_solver = nonsense}).solve(problem).status()),
      "the solver's answer is not feasible: tier 0: 4 blocks are granted, it has 2");
}

}  // namespace
}  // namespace mcsim
