// Trusts: counting distances below a capacity, one by one.
#include "core/locality/hit_curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/locality/distances/reuse_distance.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

const DistanceHistogram kExample{.distance = {0, 3, 10}, .count = {5, 2, 1}, .cold = 2};

TEST(HitCurve, CountsDistancesStrictlyBelowTheCapacity) {
  const HitCurve curve(kExample);
  EXPECT_EQ(curve.accesses(), 10);
  EXPECT_EQ(curve.hits(0), 0);
  EXPECT_EQ(curve.hits(1), 5);
  EXPECT_EQ(curve.hits(3), 5);
  EXPECT_EQ(curve.hits(4), 7);
  EXPECT_EQ(curve.hits(10), 7);
  EXPECT_EQ(curve.hits(11), 8);
  EXPECT_EQ(curve.hits(1'000'000'000'000), 8);
  EXPECT_EQ(curve.hits(-1), 0);
  EXPECT_DOUBLE_EQ(curve.ratio(4), 0.7);
  EXPECT_EQ(curve.saturation(), 11);
}

TEST(HitCurve, CapacityForIsTheSmallestThatHitsEnough) {
  const HitCurve curve(kExample);
  EXPECT_EQ(curve.capacity_for(0), 0);
  EXPECT_EQ(curve.capacity_for(8), 11);
  EXPECT_EQ(curve.capacity_for(9), -1);
  for (Count wanted = 1; wanted <= 8; ++wanted) {
    const Count capacity = curve.capacity_for(wanted);
    EXPECT_GE(curve.hits(capacity), wanted);
    EXPECT_LT(curve.hits(capacity - 1), wanted);
  }
}

TEST(HitCurve, OfNothingHitsNothing) {
  for (const HitCurve& curve : {HitCurve(), HitCurve(DistanceHistogram{})}) {
    EXPECT_EQ(curve.hits(100), 0);
    EXPECT_EQ(curve.ratio(100), 0);
    EXPECT_EQ(curve.saturation(), 0);
    EXPECT_EQ(curve.capacity_for(1), -1);
  }
}

TEST(HitCurve, TotalsPast32Bits) {
  const Count many = Count{3} << 31;
  const HitCurve curve(
      DistanceHistogram{.distance = {1, many}, .count = {many, many}, .cold = many});
  EXPECT_EQ(curve.hits(many + 1), 2 * many);
  EXPECT_EQ(curve.accesses(), 3 * many);
  EXPECT_EQ(curve.saturation(), many + 1);
}

TEST(HitCurve, EqualsCountingOneByOne) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    const std::vector<Count> distances = naive::distances(keys);
    const HitCurve curve(*histogram_of(keys));
    std::vector<Count> capacities;
    std::vector<Count> expected;
    for (Count capacity = 0; capacity < 80; ++capacity) {
      capacities.push_back(capacity * 7 % 320);
      expected.push_back(std::count_if(distances.begin(), distances.end(), [&](Count distance) {
        return distance >= 0 && distance < capacities.back();
      }));
    }
    EXPECT_EQ(curve.points(capacities), expected);
  }
}

TEST(HitCurve, SampledIsExactAtItsCapacitiesAndNeverAbove) {
  const std::vector<Count> capacities{1, 4, 5, 60, 64, 100};
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    const HitCurve exact(*histogram_of(keys));
    const HitCurve sampled = exact.sampled(capacities);
    EXPECT_EQ(sampled.accesses(), exact.accesses());
    EXPECT_EQ(sampled.points(capacities), exact.points(capacities));
    EXPECT_EQ(sampled.hits(63), exact.hits(60));
    EXPECT_EQ(sampled.hits(1000), exact.hits(100));
    EXPECT_LE(sampled.distances().size(), capacities.size());
  }
}

TEST(HitCurve, GivesItsHistogramBack) {
  EXPECT_EQ(HitCurve(kExample).histogram(), kExample);
  EXPECT_EQ(HitCurve().histogram(), DistanceHistogram{});
}

TEST(HitCurve, MergeAddsTheHitsAtEveryCapacity) {
  const auto streams = naive::awkward_streams();
  for (const auto& left : streams) {
    for (const auto& right : streams) {
      const HitCurve one(*histogram_of(left.keys));
      const HitCurve two(*histogram_of(right.keys));
      HitCurve both = one;
      both.merge(two);
      EXPECT_EQ(both.accesses(), one.accesses() + two.accesses());
      for (Count capacity = 0; capacity < 320; capacity += 3) {
        ASSERT_EQ(both.hits(capacity), one.hits(capacity) + two.hits(capacity))
            << left.name << " and " << right.name << " at " << capacity;
      }
    }
  }
}

TEST(DistanceHistogram, MergeKeepsDistancesSortedAndDistinct) {
  DistanceHistogram sum{.distance = {1, 4}, .count = {1, 1}, .cold = 1};
  sum.merge({.distance = {0, 4, 9}, .count = {2, 3, 4}, .cold = 5});
  EXPECT_EQ(sum, (DistanceHistogram{.distance = {0, 1, 4, 9}, .count = {2, 1, 4, 4}, .cold = 6}));
}

TEST(DistanceHistogram, TruncateKeepsTheAccesses) {
  for (Count limit = 0; limit <= 12; ++limit) {
    DistanceHistogram cut = kExample;
    cut.truncate(limit);
    EXPECT_EQ(cut.accesses(), kExample.accesses());
    EXPECT_TRUE(cut.distance.empty() || cut.distance.back() < limit);
    EXPECT_EQ(HitCurve(cut).hits(limit), HitCurve(kExample).hits(limit));
    EXPECT_EQ(HitCurve(cut).saturation() <= limit, true);
  }
}

}  // namespace
}  // namespace mcsim
