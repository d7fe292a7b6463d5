// Trusts: exhaustive search over tiny problems, and the worked examples of the
// Multi-Cache specification.
#include "optimizers/exact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/brute_force.hpp"
#include "tests/support/problems.hpp"

namespace mcsim {
namespace {

using testing::BruteForce;
using testing::one_tier;
using testing::random_problem;
using testing::Shape;

Solution exact(const AllocationProblem& problem) {
  const auto solution = Exact({}, {}).solve(problem);
  EXPECT_TRUE(solution.ok()) << solution.status();
  EXPECT_TRUE(check_feasible(problem, solution->choice).ok());
  return *solution;
}

std::vector<Count> blocks(const AllocationProblem& problem, std::size_t tier = 0) {
  const Allocation allocation = exact(problem).allocation(problem);
  const auto granted = allocation.tier(tier);
  return {granted.begin(), granted.end()};
}

class ExactOn : public ::testing::TestWithParam<std::tuple<Shape, std::vector<Count>>> {};

TEST_P(ExactOn, RandomProblemsEqualsExhaustiveSearch) {
  const auto& [shape, capacities] = GetParam();
  Random random(7);
  for (int round = 0; round < 60; ++round) {
    const std::size_t vms = 1 + random.below(3);
    const std::size_t sizes = capacities.size() == 3 ? 4 : 2 + random.below(6);
    AllocationProblem problem = random_problem(shape, vms, sizes, capacities, random);
    if (round % 2 == 1) testing::add_bounds(problem, random);
    const Solution solution = exact(problem);
    EXPECT_NEAR(solution.objective, BruteForce(problem).best(), 1e-9) << "round " << round;
    EXPECT_NEAR(solution.upper_bound, solution.objective, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ExactOn,
    ::testing::Combine(::testing::Values(Shape::kConcave, Shape::kCliffs, Shape::kWild),
                       ::testing::Values(std::vector<Count>{7}, std::vector<Count>{2, 5},
                                         std::vector<Count>{2, 2, 3})));

TEST(Exact, TakesUnequallySpacedSizes) {
  Random random(3);
  for (int round = 0; round < 40; ++round) {
    AllocationProblem problem = random_problem(Shape::kCliffs, 3, 5, {30}, random);
    problem.sizes = {0, 4, 6, 14, 22};
    EXPECT_NEAR(exact(problem).objective, BruteForce(problem).best(), 1e-9);
  }
}

TEST(Exact, TwoVmsOfTheMultiCacheExample) {
  const std::vector<double> a{0, .4, .5, .5};
  const std::vector<double> b{0, .1, .3, .6};
  const AllocationProblem even = one_tier(3, {a, b});
  EXPECT_EQ(blocks(even), (std::vector<Count>{1, 2}));
  EXPECT_NEAR(exact(even).objective, 0.7, 1e-12);

  const AllocationProblem favoured = one_tier(3, {a, {0, .3, .9, 1.8}});
  EXPECT_EQ(blocks(favoured), (std::vector<Count>{0, 3}));
  EXPECT_NEAR(exact(favoured).objective, 1.8, 1e-12);
}

// The two-tier objective of Multi-Cache with l_b/l_2 = 1 and l_b/l_1 = ratio.
AllocationProblem two_tiers(const std::vector<std::vector<double>>& curves,
                            std::vector<Count> capacities, double ratio) {
  AllocationProblem problem;
  problem.sizes = testing::units(curves[0].size());
  problem.capacities = std::move(capacities);
  for (const auto& curve : curves) {
    std::vector<double> fast = curve;
    for (double& value : fast) value *= ratio - 1;
    problem.value.push_back({fast, curve});
  }
  return problem;
}

// Tier by tier, as Multi-Cache does: the first tier for itself, then the sum of
// both with the first one's sizes reserved.
double layered(const AllocationProblem& problem) {
  std::vector<std::vector<double>> fast;
  AllocationProblem second;
  second.sizes = problem.sizes;
  for (const auto& tables : problem.value) {
    fast.push_back(tables[0]);
    second.value.push_back({tables[1]});
  }
  const auto first = exact(one_tier(problem.capacities[0], fast)).choice;
  second.lowest = first;
  second.capacities = {problem.capacities[1]};
  for (const auto& size : first) second.capacities[0] += static_cast<Count>(size[0]);
  std::vector<std::vector<std::size_t>> both = exact(second).choice;
  for (std::size_t v = 0; v < both.size(); ++v) both[v].insert(both[v].begin(), first[v][0]);
  EXPECT_TRUE(check_feasible(problem, both).ok());
  return objective_of(problem, both);
}

TEST(Exact, JointlyBeatsLayeredWhereCurvesHaveCliffs) {
  const std::vector<std::vector<double>> curves{{0, .5, .5, .5}, {0, 0, 0, 1}};
  const AllocationProblem near = two_tiers(curves, {1, 2}, 1.2);
  EXPECT_NEAR(exact(near).objective, 1.0, 1e-12);
  EXPECT_NEAR(layered(near), 0.6, 1e-12);

  const AllocationProblem far = two_tiers(curves, {1, 2}, 3);
  EXPECT_NEAR(exact(far).objective, 1.5, 1e-12);
  EXPECT_NEAR(layered(far), 1.5, 1e-12);
}

TEST(Exact, JointEqualsLayeredOnConcaveCurves) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<double>> curves;
    for (std::size_t v = 0; v < 2 + random.below(3); ++v) {
      curves.push_back(testing::random_curve(Shape::kConcave, 9, random));
    }
    const std::vector<Count> capacities{1 + static_cast<Count>(random.below(4)),
                                        1 + static_cast<Count>(random.below(8))};
    const AllocationProblem problem = two_tiers(curves, capacities, 1 + 3 * random.uniform());
    EXPECT_NEAR(exact(problem).objective, layered(problem), 1e-9);
  }
}

TEST(Exact, BreaksTiesTowardsEqualSharesThenTheLowerVm) {
  const std::vector<double> line{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(blocks(one_tier(5, {line, line, line})), (std::vector<Count>{2, 2, 1}));
  // Either may have the cliff; values that differ by rounding alone are ties too.
  EXPECT_EQ(blocks(one_tier(2, {{0, 0, .3}, {0, 0, .1 + .2}})), (std::vector<Count>{2, 0}));
  // (1, 1) is worth .3 as well.
  EXPECT_EQ(blocks(one_tier(2, {{0, .1, .3}, {0, .2, .3}})), (std::vector<Count>{1, 1}));
}

// The textbook recursion for one tier, over all sizes.
double by_the_textbook(const AllocationProblem& problem) {
  const auto capacity = static_cast<std::size_t>(problem.capacities[0]);
  std::vector<double> best(capacity + 1, 0.0);
  for (const auto& tables : problem.value) {
    std::vector<double> with(capacity + 1, -1e300);
    for (std::size_t used = 0; used <= capacity; ++used) {
      for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        const auto blocks = static_cast<std::size_t>(problem.sizes[i]);
        if (blocks > used) break;
        with[used] = std::max(with[used], best[used - blocks] + tables[0][i]);
      }
    }
    best = with;
  }
  return best[capacity];
}

TEST(Exact, OfManySizesIsWhatTryingAllOfThemFinds) {
  Random random(12);
  for (const Shape shape : {Shape::kConcave, Shape::kCliffs, Shape::kWild}) {
    for (int round = 0; round < 10; ++round) {
      const AllocationProblem problem = random_problem(
          shape, 2 + random.below(6), 150, {static_cast<Count>(60 + random.below(200))}, random);
      EXPECT_NEAR(exact(problem).objective, by_the_textbook(problem), 1e-9);
    }
  }
}

// Curves that bend down but for a few steps leave few sizes to try: far less work than all.
TEST(Exact, TriesFewSizesOfCurvesThatAreNearlyConcave) {
  Random random(13);
  AllocationProblem problem = random_problem(Shape::kConcave, 8, 3'000, {9'000}, random);
  for (auto& tables : problem.value) {
    for (int cliffs = 0; cliffs < 3; ++cliffs) {
      const std::size_t at = 50 + random.below(2'900);
      for (std::size_t i = at - 40; i < at; ++i) tables[0][i] = tables[0][at - 40];
    }
  }
  Exact::Params few;
  few.work_limit = 10'000'000;
  const auto solution = Exact(few, {}).solve(problem);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_NEAR(solution->objective, by_the_textbook(problem), 1e-9);
}

TEST(Exact, SaysWhatIsTooMuchWork) {
  Random random(9);
  const AllocationProblem problem = random_problem(Shape::kWild, 4, 60, {59}, random);
  Exact::Params few;
  few.work_limit = 10;
  const absl::Status work = Exact(few, {}).solve(problem).status();
  EXPECT_EQ(work.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message_of(work), ::testing::HasSubstr("work_limit is 1.0e+01: coarsen the sizes"));

  AllocationProblem wide = testing::one_tier(900'000'000, {{0, .3, 1}, {0, .3, 1}});
  wide.sizes = {0, 400'000'001, 1'000'000'000};
  EXPECT_THAT(message_of(Exact({}, {}).solve(wide).status()),
              ::testing::HasSubstr("capacities of 900000000 steps need more than"));
}

TEST(Exact, FindsThatReservationsOfSeveralTiersClash) {
  // Tier 1 alone cannot hold VM 0's three blocks, and VM 1 has tier 0.
  AllocationProblem problem = two_tiers({{0, 1, 1, 1}, {0, 1, 1, 1}}, {1, 2}, 2);
  problem.lowest = {{0, 3}, {1, 1}};
  EXPECT_THAT(message_of(Exact({}, {}).solve(problem).status()), ::testing::HasSubstr("lowest: "));
}

}  // namespace
}  // namespace mcsim
