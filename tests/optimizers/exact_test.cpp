// Trusts: exhaustive search over tiny problems, and the worked examples of the
// Multi-Cache specification (SPEC A1.5, A1.7).
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

}  // namespace
}  // namespace mcsim
