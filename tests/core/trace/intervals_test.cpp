// Trusts: the definitions in intervals.hpp, applied to each request by hand or by division.
#include "core/trace/intervals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using Times = std::vector<Nanoseconds>;

TEST(AlignedCuts, HalfOpenIntervalsFromTheFirstRequest) {
  EXPECT_EQ(aligned_cuts(Times{100, 105, 109, 110, 119, 120}, 10), (Cuts{0, 3, 5, 6}));
}

TEST(AlignedCuts, EmptyIntervalsStay) {
  EXPECT_EQ(aligned_cuts(Times{0, 35}, 10), (Cuts{0, 1, 1, 1, 2}));
}

TEST(AlignedCuts, FewRequests) {
  EXPECT_EQ(aligned_cuts(Times{}, 10), (Cuts{0}));
  EXPECT_EQ(aligned_cuts(Times{42}, 10), (Cuts{0, 1}));
  EXPECT_EQ(aligned_cuts(Times{42, 42, 42}, 10), (Cuts{0, 3}));
}

TEST(AlignedCuts, ExtremeTimesAndLengths) {
  constexpr Nanoseconds kMax = std::numeric_limits<Nanoseconds>::max();
  constexpr Nanoseconds kMin = std::numeric_limits<Nanoseconds>::min();
  EXPECT_EQ(aligned_cuts(Times{0, 1'000'000'000}, kMax), (Cuts{0, 2}));
  EXPECT_EQ(aligned_cuts(Times{kMin, 0, kMax}, kMax), (Cuts{0, 1, 2, 3}));
}

TEST(CheckIntervals, RefusesMoreThanCanBeKept) {
  const Times far{0, 5, 100'000'000'000'000'000};
  const auto complaint = [&](Nanoseconds length, TimeBase base = TimeBase::kClock) {
    return message_of(check_intervals(far, base, "interval", length));
  };
  EXPECT_EQ(complaint(1'000'000'000),
            "interval: '1s' cuts this trace into 100000001 pieces; at most 1048576 can be "
            "kept");
  EXPECT_EQ(
      complaint(10, TimeBase::kIndex),
      "interval: '10 references' cuts this trace into 10000000000000001 pieces; at most 1048576 "
      "can be kept");
  EXPECT_EQ(complaint(0), "interval: must be positive, got 0ns");
  EXPECT_EQ(complaint(far.back() / static_cast<Nanoseconds>(kMostIntervals) + 1), "");
  EXPECT_EQ(aligned_cuts(far, far.back() / static_cast<Nanoseconds>(kMostIntervals) + 1).size(),
            kMostIntervals + 1);
  EXPECT_NE(complaint(far.back() / static_cast<Nanoseconds>(kMostIntervals)), "");
  EXPECT_TRUE(check_intervals({}, TimeBase::kClock, "interval", 1).ok());
}

TEST(CheckIntervals, TheWholeRangeOfTimes) {
  const Times all{std::numeric_limits<Nanoseconds>::min(), std::numeric_limits<Nanoseconds>::max()};
  EXPECT_EQ(
      message_of(check_intervals(all, TimeBase::kClock, "ri_window", 1)),
      "ri_window: '1ns' cuts this trace into 18446744073709551615 pieces; at most 1048576 can "
      "be kept");
}

TEST(DriftingCuts, FiresAfterTheFirstLaterRequestAndThenFromWhereItFired) {
  // Fires on 1 (the first after 0), 12 (>= 1 + 10), 23 (>= 12 + 10).
  EXPECT_EQ(drifting_cuts(Times{0, 0, 1, 10, 12, 21, 23, 24}, 10), (Cuts{0, 3, 5, 7, 8}));
}

TEST(DriftingCuts, AGapFiresOnce) {
  EXPECT_EQ(drifting_cuts(Times{0, 1, 1000, 1001, 1010}, 10), (Cuts{0, 2, 3, 5}));
}

TEST(DriftingCuts, FewRequests) {
  EXPECT_EQ(drifting_cuts(Times{}, 10), (Cuts{0}));
  EXPECT_EQ(drifting_cuts(Times{42}, 10), (Cuts{0, 1}));
  EXPECT_EQ(drifting_cuts(Times{42, 42, 42}, 10), (Cuts{0, 3}));
}

Times random_times(Random& random) {
  Times times(1 + random.below(60));
  for (auto& time : times) time = static_cast<Nanoseconds>(random.below(1 + random.below(500)));
  std::sort(times.begin(), times.end());
  return times;
}

TEST(AlignedCuts, EveryRequestIsInTheIntervalOfItsTime) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const Times times = random_times(random);
    const Nanoseconds length = 1 + static_cast<Nanoseconds>(random.below(50));
    const Cuts cuts = aligned_cuts(times, length);
    ASSERT_EQ(cuts.front(), 0U);
    ASSERT_EQ(cuts.back(), times.size());
    ASSERT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      for (std::size_t r = cuts[k]; r < cuts[k + 1]; ++r) {
        ASSERT_EQ((times[r] - times[0]) / length, static_cast<Nanoseconds>(k));
      }
    }
    EXPECT_LT(cuts[cuts.size() - 2], times.size()) << "no empty interval at the end";
  }
}

TEST(DriftingCuts, EachIntervalEndsAtTheFirstRequestLongEnoughAfterTheLastEnd) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    const Times times = random_times(random);
    const Nanoseconds length = 1 + static_cast<Nanoseconds>(random.below(50));
    const Cuts cuts = drifting_cuts(times, length);
    ASSERT_EQ(cuts.front(), 0U);
    ASSERT_EQ(cuts.back(), times.size());
    Nanoseconds due = times.front() + 1;
    for (std::size_t k = 1; k < cuts.size(); ++k) {
      ASSERT_LT(cuts[k - 1], cuts[k]) << "a drifting interval is never empty";
      for (std::size_t r = cuts[k - 1]; r + 1 < cuts[k]; ++r) ASSERT_LT(times[r], due);
      const Nanoseconds fired = times[cuts[k] - 1];
      if (k + 1 < cuts.size()) {
        ASSERT_GE(fired, due);
      }
      due = fired + length;
    }
  }
}

}  // namespace
}  // namespace mcsim
