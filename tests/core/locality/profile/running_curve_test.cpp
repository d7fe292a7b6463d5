// Trusts: HitCurve of the same counts; what is taken away again.
#include "core/locality/profile/running_curve.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using Counts = std::vector<DistanceCount>;

// In any order, some distances more than once.
Counts random_counts(Random& random) {
  const std::uint64_t far = 1 + random.below(1000);
  Counts counts(random.below(60));
  for (auto& [distance, count] : counts) {
    distance = static_cast<std::uint32_t>(random.below(far));
    count = static_cast<std::uint32_t>(1 + random.below(9));
  }
  return counts;
}

HitCurve curve_of(const std::vector<Counts>& added, Count limit, Count accesses) {
  std::map<Count, Count> counts;
  Count known = 0;
  for (const Counts& some : added) {
    for (const auto& [distance, count] : some) {
      if (limit > 0 && distance >= limit) continue;
      counts[distance] += count;
      known += count;
    }
  }
  DistanceHistogram histogram{.distance = {}, .count = {}, .cold = accesses - known};
  for (const auto& [distance, count] : counts) {
    histogram.distance.push_back(distance);
    histogram.count.push_back(count);
  }
  return HitCurve(histogram);
}

TEST(RunningCurve, IsTheCurveOfWhatWasAddedAndNotTakenAway) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    const Count limit = round % 2 == 0 ? 0 : 1 + static_cast<Count>(random.below(600));
    RunningCurve running;
    std::vector<Counts> added;
    for (int step = 0; step < 20; ++step) {
      if (!added.empty() && random.below(3) == 0) {
        running.remove(added.front(), limit);
        added.erase(added.begin());
      } else {
        added.push_back(random_counts(random));
        running.add(added.back(), limit);
      }
      running.set_accesses(20'000);
      const HitCurve expected = curve_of(added, limit, 20'000);
      ASSERT_EQ(running.curve(), expected);
      for (const Count capacity : {-1, 0, 1, 127, 128, 129, 256, 500, 1000, 5000}) {
        ASSERT_EQ(running.hits(capacity), expected.hits(capacity)) << capacity;
        ASSERT_EQ(running.ratio(capacity), expected.ratio(capacity)) << capacity;
      }
      ASSERT_EQ(running.saturation(), expected.saturation());
      const Count most = expected.hits(expected.saturation());
      for (const Count wanted : {Count{-1}, Count{0}, Count{1}, most / 2, most, most + 1}) {
        ASSERT_EQ(running.capacity_for(wanted), expected.capacity_for(wanted)) << wanted;
      }
    }
  }
}

TEST(RunningCurve, OfNothingHitsNothing) {
  const RunningCurve none;
  EXPECT_EQ(none.hits(10), 0);
  EXPECT_EQ(none.ratio(10), 0);
  EXPECT_EQ(none.curve(), HitCurve());
  EXPECT_EQ(none.saturation(), 0);
  EXPECT_EQ(none.capacity_for(0), 0);
  EXPECT_EQ(none.capacity_for(1), -1);
}

TEST(RunningCurve, OfWhatWasAllTakenAwayIsNothing) {
  const Counts counts{{3, 2}, {200, 1}};
  RunningCurve running;
  running.add(counts);
  running.remove(counts);
  EXPECT_EQ(running.saturation(), 0);
  EXPECT_EQ(running.capacity_for(1), -1);
}

}  // namespace
}  // namespace mcsim
