// Trusts: arithmetic on hand-made curves.
#include "policies/allocation/latency.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "policies/allocation/maxperf.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;

const std::vector<VmInfo> kVms{{.name = "a"}, {.name = "b"}};

Machine two_tiers() {
  return {.tiers = {{{"fast", 10, 20, 1}, 25}, {{"slow", 100, 300, 1}, 75}},
          .backend = {"disk", 1'000, 2'000, 1},
          .vm_backend_ns = {{"b", 500}}};
}

TEST(LatencyModel, WaitsForTheTierThatHasTheBlock) {
  const LatencyModel model(two_tiers(), kVms);
  // A hit for every block, of 100.
  const auto line = [](Count blocks) { return static_cast<double>(blocks) / 100; };
  EXPECT_EQ(model.capacity(), 100);
  EXPECT_DOUBLE_EQ(model.mean_ns(0, 0, line), 1'000);
  // 10 of 40 blocks are in the fast tier.
  EXPECT_DOUBLE_EQ(model.mean_ns(0, 40, line), .1 * 10 + .3 * 100 + .6 * 1'000);
  EXPECT_DOUBLE_EQ(model.mean_ns(1, 40, line), .1 * 10 + .3 * 100 + .6 * 500);
  EXPECT_EQ(model.least_for(.1 * 10 + .3 * 100 + .6 * 1'000 + 1e-6, 0, line), 40);
  EXPECT_EQ(model.least_for(1'000, 0, line), 0);
  EXPECT_EQ(model.least_for(70, 0, line), -1);
}

TEST(LatencyModel, WhoseOwnStorageIsFastEnoughNeedsNoBlocks) {
  Machine machine = two_tiers();
  machine.vm_backend_ns = {{"b", 50}};  // faster than the slow tier
  const LatencyModel model(machine, kVms);
  const auto line = [](Count blocks) { return static_cast<double>(blocks) / 100; };
  EXPECT_GT(model.mean_ns(1, 100, line), 60);
  EXPECT_EQ(model.least_for(60, 1, line), 0);
}

TEST(Latency, IsMeasuredByWhatServed) {
  VmCounters counted;
  counted.tiers.resize(2);
  counted.accesses = 10;
  counted.reads_served.blocks = {1, 2, 3};
  counted.writes_served.blocks = {0, 1, 3};
  EXPECT_DOUBLE_EQ(mean_ns(counted, two_tiers(), "a"),
                   (10 + 2 * 100 + 3 * 1'000 + 300 + 3 * 2'000) / 10.0);
  EXPECT_DOUBLE_EQ(mean_ns(counted, two_tiers(), "b"),
                   (10 + 2 * 100 + 3 * 500 + 300 + 3 * 500) / 10.0);
  counted.accesses = 0;
  EXPECT_EQ(mean_ns(counted, two_tiers(), "a"), 0);
}

TEST(LatencyGoals, AreTheStricterOfLatencyAndRate) {
  const LatencyGoals goals{
      .latency_ms = {{"a", 2}, {"b", 3}}, .iops = {{"b", 1'000}}, .outstanding = {{"b", 2}}};
  EXPECT_THAT(goals.wanted_ns(kVms).value(), ElementsAre(2e6, 2e6));
  EXPECT_THAT(LatencyGoals{}.wanted_ns(kVms).value(),
              ElementsAre(std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::infinity()));
  const LatencyGoals wrong{.latency_ms = {{"zebra", 1}}, .iops = {}, .outstanding = {}};
  EXPECT_EQ(message_of(wrong.wanted_ns(kVms).status()), "latency_ms: there is no VM 'zebra'");
}

TEST(LatencyGoals, TakeOutstandingRequestsFromTheTraceWhereTheyAreGivenAsNone) {
  const LatencyGoals goals{
      .latency_ms = {{"b", 9}}, .iops = {{"a", 1'000}, {"b", 1'000}}, .outstanding = {{"a", 0}}};
  const auto meters = goals.with_responses({{.what = CurveMeter{}}});
  ASSERT_EQ(meters.size(), 2U);
  EXPECT_STREQ(name_of(meters.back().what), "responses");
  const std::vector<Responses> told{{.requests = 5, .mean_ns = 9, .outstanding = 1.5}, {}};
  const std::vector<Reading> readings{{}, {.responses = told}};
  const Allocation none(1, 2);
  const Observation seen{.meters = readings, .counters = {}, .since = {}, .current = none};
  EXPECT_THAT(goals.wanted_ns(kVms, seen), ElementsAre(1.5e6, 1e6));
  // Before anything was told, and of a VM with nothing under way, nothing is promised.
  EXPECT_THAT(goals.wanted_ns(kVms).value(),
              ElementsAre(std::numeric_limits<double>::infinity(), 1e6));
  EXPECT_EQ(LatencyGoals{}.with_responses({}).size(), 0U);
}

TEST(MeasuredCurve, IsThePolynomialThroughItsPointsWhereItRises) {
  MeasuredCurve curve;
  // r(c) = c² / 100
  for (const Count c : {2, 4, 7}) curve.add(c, static_cast<double>(c * c) / 100);
  curve.settle(20, 40);
  EXPECT_NEAR(curve.ratio(5), .25, 1e-12);
  EXPECT_NEAR(curve.ratio(9), .81, 1e-12);
  EXPECT_EQ(curve.ratio(15), 1);  // cut
}

TEST(MeasuredCurve, IsLinesWhereThePolynomialFalls) {
  MeasuredCurve curve;
  // 4 c - c², in hundredths, falls beyond 2.
  for (const Count c : {1, 2, 3}) curve.add(c, static_cast<double>(4 * c - c * c) / 100);
  curve.settle(4, 8);
  EXPECT_NEAR(curve.ratio(0), 0, 1e-12);
  EXPECT_NEAR(curve.ratio(1), .03, 1e-12);
  EXPECT_NEAR(curve.ratio(2), .04, 1e-12);
  EXPECT_NEAR(curve.ratio(4), .03, 1e-12);
  // The newest of a size counts, and the last four.
  curve.add(3, .05);
  curve.add(8, .5);
  curve.add(9, .4);
  curve.add(10, .5);
  curve.settle(10, 10);
  EXPECT_NEAR(curve.ratio(1), .05 / 3, 1e-12);
  EXPECT_NEAR(curve.ratio(3), .05, 1e-12);
}

}  // namespace
}  // namespace mcsim
