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

// A hit for every block, of 100.
double line(Count blocks) { return static_cast<double>(blocks) / 100; }

LatencyModel model_of(const Machine& machine, std::string_view writes = "through") {
  return LatencyModel::make(machine, kVms, writes).value();
}

TEST(LatencyModel, WaitsForTheTierThatHasTheBlock) {
  const LatencyModel model = model_of(two_tiers());
  const AccessMix reads{.write_share = 0, .read_ratio = line};
  EXPECT_EQ(model.capacity(), 100);
  EXPECT_DOUBLE_EQ(model.mean_ns(0, 0, reads), 1'000);
  // 10 of 40 blocks are in the fast tier.
  EXPECT_DOUBLE_EQ(model.mean_ns(0, 40, reads), .1 * 10 + .3 * 100 + .6 * 1'000);
  EXPECT_DOUBLE_EQ(model.mean_ns(1, 40, reads), .1 * 10 + .3 * 100 + .6 * 500);
  EXPECT_EQ(model.least_for(.1 * 10 + .3 * 100 + .6 * 1'000 + 1e-6, 0, reads), 40);
  EXPECT_EQ(model.least_for(1'000, 0, reads), 0);
  EXPECT_EQ(model.least_for(70, 0, reads), -1);
}

TEST(LatencyModel, WhoseOwnStorageIsFastEnoughNeedsNoBlocks) {
  Machine machine = two_tiers();
  machine.vm_backend_ns = {{"b", 50}};  // faster than the slow tier
  const LatencyModel model = model_of(machine);
  const AccessMix reads{.write_share = 0, .read_ratio = line};
  EXPECT_GT(model.mean_ns(1, 100, reads), 60);
  EXPECT_EQ(model.least_for(60, 1, reads), 0);
}

TEST(LatencyModel, WritesWaitForTheBackendOrTheTierThatTakesThem) {
  const double reads_ns = .1 * 10 + .3 * 100 + .6 * 1'000;
  const AccessMix mix{.write_share = .25, .read_ratio = line};
  for (const char* mode : {"through", "around"}) {
    const LatencyModel model = model_of(two_tiers(), mode);
    EXPECT_DOUBLE_EQ(model.mean_ns(0, 40, mix), .75 * reads_ns + .25 * 2'000);
    EXPECT_EQ(model.write_ns(1, 40), 500);  // storage of its own
  }
  const LatencyModel back = model_of(two_tiers(), "back, b=through");
  EXPECT_DOUBLE_EQ(back.mean_ns(0, 40, mix), .75 * reads_ns + .25 * 20);
  EXPECT_EQ(back.write_ns(0, 0), 2'000);
  EXPECT_EQ(back.write_ns(0, 3), 300);  // none of 3 blocks is in the fast tier
  EXPECT_EQ(back.write_ns(0, 4), 20);
  EXPECT_EQ(back.write_ns(1, 40), 500);
  // Promises: 4 blocks take the writes, and no size makes writes through faster.
  EXPECT_EQ(back.least_for(.75 * 1'000 + .25 * 20, 0, mix), 4);
  EXPECT_EQ(model_of(two_tiers()).least_for(499, 0, mix), -1);
}

TEST(LatencyModel, WritesByTierWaitForTheFirstThatWritesBack) {
  EXPECT_EQ(model_of(two_tiers(), "through / back").write_ns(0, 40), 300);
  EXPECT_EQ(model_of(two_tiers(), "around / back").write_ns(0, 40), 300);
  EXPECT_EQ(model_of(two_tiers(), "back / through").write_ns(0, 40), 20);
  EXPECT_EQ(model_of(two_tiers(), "back / through").write_ns(0, 3), 2'000);
}

TEST(LatencyModel, MeasuresReadsAmongThemselvesWhereVmsWriteAround) {
  const auto meters = [](std::string_view writes) {
    DataPathParams path;
    path.writes = writes;
    return LatencyModel::read_meters(two_tiers(), path, {.scope = DistanceScope::kWarm});
  };
  const auto between = [&](std::string_view writes) {
    std::vector<Between> filters;
    for (const Meter& meter : meters(writes)) {
      const auto& curve = std::get<CurveMeter>(meter.what);
      EXPECT_EQ(curve.ops, OpFilter::kReads);
      EXPECT_EQ(curve.scope, DistanceScope::kWarm);
      filters.push_back(curve.between);
    }
    return filters;
  };
  EXPECT_THAT(between("through"), ElementsAre(Between::kAll));
  EXPECT_THAT(between("back, b=around"), ElementsAre(Between::kAll, Between::kAround));
  // Each VM has the curve of its mode.
  std::vector<RunningCurve> all(2);
  std::vector<RunningCurve> alone(2);
  const std::vector<Reading> readings{{.name = "read curve", .curves = all},
                                      {.name = "read curve around", .curves = alone}};
  const Allocation none(2, 2);
  const Observation seen{.meters = readings, .counters = {}, .since = {}, .current = none};
  const LatencyModel model = model_of(two_tiers(), "back, b=around");
  EXPECT_EQ(&model.read_curve(seen, 0), &all[0]);
  EXPECT_EQ(&model.read_curve(seen, 1), &alone[1]);
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
  EXPECT_EQ(message_of(wrong.wanted_ns(kVms).status()), "latency_ms: no VM 'zebra'");
}

TEST(LatencyGoals, TakeOutstandingRequestsFromTheTraceWhereTheyAreGivenAsNone) {
  const LatencyGoals goals{
      .latency_ms = {{"b", 9}}, .iops = {{"a", 1'000}, {"b", 1'000}}, .outstanding = {{"a", 0}}};
  const auto meters = goals.with_responses({{.what = CurveMeter{}}});
  ASSERT_EQ(meters.size(), 2U);
  EXPECT_STREQ(name_of(meters.back().what), "responses");
  const std::vector<Responses> told{{.requests = 5, .mean_ns = 9, .outstanding = 1.5}, {}};
  const std::vector<Reading> readings{{.name = "responses", .responses = told}};
  const Allocation none(1, 2);
  const Observation seen{.meters = readings, .counters = {}, .since = {}, .current = none};
  EXPECT_THAT(goals.wanted_ns(kVms, seen), ElementsAre(1.5e6, 1e6));
  // Without measurements, or without requests in progress, there is no promise.
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
