// Trusts: the definition of AllocationProblem, checked by hand on small cases.
#include "core/engine/model/allocation.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcsim {
namespace {

// Two VMs, two tiers, sizes 0, 10, 20, 30.
AllocationProblem valid() {
  AllocationProblem problem;
  problem.sizes = {0, 10, 20, 30};
  problem.capacities = {20, 30};
  problem.value = {{{0, 1, 2, 3}, {0, 2, 4, 4}}, {{0, 5, 5, 5}, {0, 6, 7, 8}}};
  return problem;
}

template <class Change>
std::string complaint(Change change) {
  AllocationProblem problem = valid();
  change(problem);
  return message_of(problem.validate());
}

TEST(AllocationProblem, OfTheRightShapeIsValid) {
  EXPECT_TRUE(valid().validate().ok()) << valid().validate();
}

TEST(AllocationProblem, MistakesAreNamedWithTheirPlace) {
  using P = AllocationProblem;
  EXPECT_EQ(complaint([](P& p) { p.sizes.clear(); }), "sizes: the first must be 0, got no sizes");
  EXPECT_EQ(complaint([](P& p) { p.sizes[0] = 1; }), "sizes: the first must be 0, got 1");
  EXPECT_EQ(complaint([](P& p) { p.sizes[2] = 10; }), "sizes[2]: 10 does not exceed sizes[1] = 10");
  EXPECT_EQ(complaint([](P& p) { p.capacities.clear(); }), "capacities: there is no tier");
  EXPECT_EQ(complaint([](P& p) { p.capacities[1] = -1; }), "capacities[1]: -1 is negative");
  EXPECT_EQ(complaint([](P& p) { p.value.clear(); }), "value: expected at least one VM");
  EXPECT_EQ(complaint([](P& p) { p.value[1].pop_back(); }),
            "value[1]: 1 tiers, expected 2 as in capacities");
  EXPECT_EQ(complaint([](P& p) { p.value[0][1].pop_back(); }),
            "value[0][1]: 3 values, expected 4, one per size");
  EXPECT_EQ(complaint([](P& p) { p.value[0][1][2] = std::nan(""); }),
            "value[0][1][2]: nan is not a finite number");
  EXPECT_EQ(complaint([](P& p) { p.lowest = {{0, 0}}; }), "lowest: 1 VMs, expected 2");
  EXPECT_EQ(complaint([](P& p) { p.highest = {{3, 3}, {3}}; }), "highest[1]: 1 tiers, expected 2");
  EXPECT_EQ(complaint([](P& p) { p.highest = {{3, 3}, {4, 3}}; }),
            "highest[1][0]: index 4 is past the last size, 3");
}

TEST(AllocationProblem, BoundsThatCannotBeMetAreNamed) {
  using P = AllocationProblem;
  // Two sizes in tier 0 are two in tiers 0..1, where one is allowed.
  EXPECT_EQ(complaint([](P& p) {
              p.lowest = {{2, 0}, {0, 0}};
              p.highest = {{3, 1}, {3, 3}};
            }),
            "lowest[0][0] = 2 exceeds highest[0][1] = 1");
  EXPECT_EQ(complaint([](P& p) { p.lowest = {{2, 0}, {1, 0}}; }),
            "lowest: 30 blocks are reserved in tiers 0..0, only 20 are available");
  EXPECT_EQ(complaint([](P& p) { p.lowest = {{0, 3}, {0, 3}}; }),
            "lowest: 60 blocks are reserved in tiers 0..1, only 50 are available");
  // 50 blocks exist, but of the 20 in tier 0 the limits let only 10 be used.
  EXPECT_EQ(complaint([](P& p) {
              p.highest = {{1, 3}, {0, 3}};
              p.lowest = {{0, 3}, {0, 2}};
            }),
            "lowest: 50 blocks are reserved in tiers 0..1, only 40 are available");
}

TEST(AllocationProblem, UnitIsTheCommonDistanceIfThereIsOne) {
  AllocationProblem problem = valid();
  EXPECT_EQ(problem.unit(), 10);
  problem.sizes[3] = 31;
  EXPECT_EQ(problem.unit(), 0);
  problem.sizes = {0};
  EXPECT_EQ(problem.unit(), 1);
}

TEST(AllocationProblem, ObjectiveIsTheSumOfChosenValues) {
  EXPECT_EQ(objective_of(valid(), {{0, 2}, {1, 3}}), 0 + 4 + 5 + 8);
}

TEST(Solution, AllocationIsTheDifferenceOfCumulativeSizes) {
  Solution solution;
  solution.choice = {{0, 2}, {1, 1}};
  const Allocation blocks = solution.allocation(valid());
  EXPECT_EQ(blocks.tiers(), 2U);
  EXPECT_THAT(std::vector<Count>(blocks.tier(0).begin(), blocks.tier(0).end()),
              ::testing::ElementsAre(0, 10));
  EXPECT_THAT(std::vector<Count>(blocks.tier(1).begin(), blocks.tier(1).end()),
              ::testing::ElementsAre(20, 0));
}

TEST(CheckFeasible, AcceptsWhatFits) {
  EXPECT_TRUE(check_feasible(valid(), {{1, 2}, {1, 3}}).ok());
}

TEST(CheckFeasible, SaysWhatIsWrong) {
  AllocationProblem problem = valid();
  const auto why = [&](std::vector<std::vector<std::size_t>> choice) {
    return message_of(check_feasible(problem, choice));
  };
  EXPECT_EQ(why({{0, 0}}), "choice: expected 2 VMs, got 1");
  EXPECT_EQ(why({{0, 0}, {0}}), "VM 1: expected 2 tiers, got 1");
  EXPECT_EQ(why({{0, 0}, {0, 4}}), "VM 1, tiers 0..1: size index 4 is outside its bounds [0, 3]");
  EXPECT_EQ(why({{2, 1}, {0, 0}}), "VM 0: 10 blocks in tiers 0..1 are fewer than the 20 in 0..0");
  EXPECT_EQ(why({{2, 2}, {1, 1}}), "tier 0: 30 blocks are granted, it has 20");
  EXPECT_EQ(why({{0, 2}, {0, 2}}), "tier 1: 40 blocks are granted, it has 30");
  problem.lowest = {{1, 1}, {0, 0}};
  EXPECT_EQ(why({{0, 1}, {0, 0}}), "VM 0, tiers 0..0: size index 0 is outside its bounds [1, 3]");
}

}  // namespace
}  // namespace mcsim
