// Trusts: the concave envelope written down as the best chord over every point.
#include "optimizers/hull.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/brute_force.hpp"
#include "tests/support/problems.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;
using testing::random_problem;
using testing::Shape;

std::vector<double> envelope(const std::vector<Count>& sizes, const std::vector<double>& value) {
  std::vector<double> best = value;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t c = a + 1; c < sizes.size(); ++c) {
      for (std::size_t b = a; b <= c; ++b) {
        const double along =
            static_cast<double>(sizes[b] - sizes[a]) / static_cast<double>(sizes[c] - sizes[a]);
        best[b] = std::max(best[b], value[a] + along * (value[c] - value[a]));
      }
    }
  }
  return best;
}

// On unit sizes the envelope bends at whole sizes only, so the relaxed optimum
// is reached at whole sizes, by exhaustive search over the envelopes.
double relaxed_optimum(AllocationProblem problem) {
  for (auto& tables : problem.value) tables[0] = envelope(problem.sizes, tables[0]);
  return testing::BruteForce(problem).best();
}

TEST(UpperHull, KeepsWhatLiesOnTheEnvelope) {
  const std::vector<Count> sizes{0, 1, 2, 3, 4};
  EXPECT_THAT(upper_hull(sizes, std::vector<double>{0, 0, 1, 1, 1}, 0, 4), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(upper_hull(sizes, std::vector<double>{0, .1, .2, .3, .4}, 0, 4),
              ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(upper_hull(sizes, std::vector<double>{0, 0, 1, 1, 1}, 1, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(upper_hull(sizes, std::vector<double>{0, 0, 1, 1, 1}, 3, 3), ElementsAre(3));
}

TEST(UpperHull, EqualsTheBestChord) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    const std::vector<Count> sizes{0, 1, 4, 6, 7, 12, 20};
    const std::vector<double> value = testing::random_curve(Shape::kWild, sizes.size(), random);
    const std::vector<double> best = envelope(sizes, value);
    const auto hull = upper_hull(sizes, value, 0, sizes.size() - 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool on_it = std::ranges::find(hull, i) != hull.end();
      EXPECT_EQ(on_it, value[i] > best[i] - 1e-9) << "size " << sizes[i];
    }
  }
}

TEST(WalkHulls, BoundIsTheOptimumOverEnvelopes) {
  Random random(2);
  for (int round = 0; round < 60; ++round) {
    const Shape shape = round % 2 == 0 ? Shape::kCliffs : Shape::kWild;
    AllocationProblem problem = random_problem(shape, 3, 7, {8}, random);
    EXPECT_NEAR(walk_hulls(problem).upper_bound, relaxed_optimum(problem), 1e-9);
  }
}

TEST(RelaxedBound, CountsCapacityInWholeSteps) {
  AllocationProblem problem = testing::one_tier(5, {{0, 1, 2, 3}});
  problem.sizes = {0, 2, 4, 6};
  EXPECT_DOUBLE_EQ(relaxed_bound(problem), 2.0);
}

TEST(CommonStep, IsTheGreatestCommonDivisor) {
  EXPECT_EQ(common_step(std::vector<Count>{0, 4, 10}), 2);
  EXPECT_EQ(common_step(std::vector<Count>{0}), 1);
}

}  // namespace
}  // namespace mcsim
