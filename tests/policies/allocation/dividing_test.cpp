// Trusts: arithmetic; the targets of a division sum to the whole and lie within
// one block of the exact quota.
#include "policies/allocation/dividing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;

TEST(Proportional, GivesTheRemainderToTheFirst) {
  EXPECT_THAT(proportional(10, std::vector{1.0, 1.0, 1.0}), ElementsAre(4, 3, 3));
  EXPECT_THAT(proportional(10, std::vector{0.0, 0.0}), ElementsAre(5, 5));
  EXPECT_THAT(proportional(7, std::vector{1.0, 3.0}), ElementsAre(2, 5));
}

TEST(Proportional, TheLargestNumberOfBlocksIsGivenWhole) {
  constexpr Count kMost = std::numeric_limits<Count>::max();  // as a double it is 2^63
  EXPECT_EQ(proportional(kMost, std::vector{1.0}), std::vector{kMost});
}

TEST(Proportional, OfNobodyNobodyHasAnything) {
  EXPECT_THAT(proportional(10, std::span<const double>()), ElementsAre());
}

TEST(Proportional, SumsExactlyAndKeepsToTheQuota) {
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> weights(1 + random.below(9));
    for (double& w : weights) w = static_cast<double>(random.below(1'000));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const auto blocks = static_cast<Count>(random.below(5'000'000));
    const std::vector<Count> targets = proportional(blocks, weights);
    EXPECT_EQ(std::accumulate(targets.begin(), targets.end(), Count{0}), blocks);
    for (std::size_t i = 0; i < targets.size() && sum > 0; ++i) {
      EXPECT_NEAR(static_cast<double>(targets[i]), weights[i] / sum * static_cast<double>(blocks),
                  1.0);
    }
  }
}

TEST(Spread, FeedsOnlyTheActive) {
  std::vector<Count> targets{1, 3, 5};
  spread(8, {true, true, false}, targets);
  EXPECT_THAT(targets, ElementsAre(3, 9, 5));
  spread(8, {false, false, false}, targets);
  EXPECT_THAT(targets, ElementsAre(3, 9, 5));
}

TEST(OverTiers, FillsAllTiersAlikeToTheBlock) {
  Machine machine;
  machine.tiers = {{{}, 50}, {{}, 50}};
  for (Count blocks = 0; blocks <= 100; ++blocks) {
    const Allocation targets = over_tiers(machine, std::vector<Count>{blocks});
    EXPECT_EQ(targets.at(0, 0), blocks / 2) << "as doubles, 58 % of 50 are less than 29";
    EXPECT_EQ(targets.at(1, 0), blocks - blocks / 2);
  }
}

TEST(PerVm, NamesAreChecked) {
  const std::vector<VmInfo> vms{{.name = "web_0"}, {.name = "web_1"}};
  EXPECT_THAT(per_vm("shares", {{"web_1", 3.0}}, vms, 1.0).value(), ElementsAre(1.0, 3.0));
  EXPECT_EQ(message_of(per_vm("shares", {{"web1", 3.0}}, vms, 1.0).status()),
            "shares: no VM 'web1' (did you mean 'web_1'?)");
  EXPECT_EQ(message_of(per_vm("shares", {{"web_1", -1.0}}, vms, 1.0).status()),
            "shares: web_1: -1 is not a weight (0 or more)");
}

}  // namespace
}  // namespace mcsim
