// Trusts: closed forms of loops and repeats, sums over a naive list of reuse
// times, and the law that a random share of the references estimates them all.
#include "core/locality/estimators/reuse_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/locality/estimator.hpp"
#include "tests/support/exact_histogram.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

constexpr ReuseTimeParams kExactBins{.bins = 1 << 16, .rate = 1, .reservoir = 0};

CurveEstimate curve_of_keys(std::span<const std::uint64_t> keys, DepthModel model,
                            const ReuseTimeParams& params = kExactBins, std::uint64_t seed = 1) {
  ReuseTimes times(params, seed);
  times.process(keys);
  return curve_of(times, model);
}

// The share of references with a reuse time above t, first ones included.
struct NaiveTimes {
  std::vector<Count> times;
  Count cold = 0;

  explicit NaiveTimes(std::span<const std::uint64_t> keys) {
    std::map<std::uint64_t, Count> last;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto now = static_cast<Count>(i);
      if (last.contains(keys[i])) {
        times.push_back(now - last[keys[i]]);
      } else {
        ++cold;
      }
      last[keys[i]] = now;
    }
  }

  Count longer(Count t) const {
    return cold + std::ranges::count_if(times, [t](Count time) { return time > t; });
  }

  double total() const { return static_cast<double>(times.size()) + static_cast<double>(cold); }

  // Hits of c blocks by the average eviction time.
  Count aet_hits(Count c) const {
    Count t = 0;
    for (double sum = 0; sum < static_cast<double>(c) * total() && t <= 2000; ++t) {
      sum += static_cast<double>(longer(t));
    }
    return std::ranges::count_if(times, [t](Count time) { return time <= t; });
  }

  // Hits of c blocks by expected distances.
  Count statstack_hits(Count c) const {
    return std::ranges::count_if(times, [&](Count time) {
      double distance = 0;
      for (Count t = 1; t < time; ++t) distance += static_cast<double>(longer(t));
      return distance < static_cast<double>(c) * total();
    });
  }
};

TEST(LogHistogram, KnowsNumbersToOnePartInItsBins) {
  for (const Count bins : {1, 4, 256}) {
    LogHistogram<Count> histogram(bins);
    Random random(4);
    std::vector<Count> numbers;
    for (int i = 0; i < 2000; ++i) {
      numbers.push_back(static_cast<Count>(random() >> (1 + random.below(63))));
      histogram.add(numbers.back(), 1);
    }
    std::ranges::sort(numbers);
    auto next = numbers.begin();
    histogram.for_each([&](Count lowest, Count width, Count mass) {
      EXPECT_LE((width - 1) * bins, lowest);
      for (Count i = 0; i < mass; ++i, ++next) {
        EXPECT_GE(*next, lowest);
        EXPECT_LT(*next - lowest, width);
      }
    });
    EXPECT_EQ(next, numbers.end());
  }
}

TEST(ReuseTimes, CurvesAreTheirDefinition) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    SCOPED_TRACE(stream.name);
    const NaiveTimes naive(stream.keys);
    const CurveEstimate aet = curve_of_keys(stream.keys, DepthModel::kAverageEviction);
    const CurveEstimate statstack = curve_of_keys(stream.keys, DepthModel::kExpectedDistance);
    for (const Count c : {1, 2, 3, 5, 10, 31, 63, 64, 65, 99, 100, 200, 300, 700, 1000}) {
      EXPECT_NEAR(aet.hits_at(static_cast<double>(c)), static_cast<double>(naive.aet_hits(c)), 1e-6)
          << "capacity " << c;
      EXPECT_NEAR(statstack.hits_at(static_cast<double>(c)),
                  static_cast<double>(naive.statstack_hits(c)), 1e-6)
          << "capacity " << c;
    }
  }
}

TEST(ReuseTimes, ALoopAndARepeatAreExact) {
  for (const std::uint64_t blocks : {1, 2, 50, 1000}) {
    std::vector<std::uint64_t> loop;
    for (std::uint64_t i = 0; i < 20 * blocks; ++i) loop.push_back(i % blocks);
    for (const auto model : {DepthModel::kAverageEviction, DepthModel::kExpectedDistance}) {
      const CurveEstimate curve = curve_of_keys(loop, model);
      const auto all = static_cast<double>(blocks);
      EXPECT_EQ(curve.hits_at(all - 1), 0);
      EXPECT_DOUBLE_EQ(curve.hits_at(all), 19 * all);
    }
  }
}

TEST(ReuseTimes, TheDefaultBinsChangeLittle) {
  Random random(8);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 100'000; ++i) keys.push_back(random.below(1 + random.below(20'000)));
  for (const auto model : {DepthModel::kAverageEviction, DepthModel::kExpectedDistance}) {
    const CurveEstimate fine = curve_of_keys(keys, model, {.bins = 1 << 20});
    const CurveEstimate coarse = curve_of_keys(keys, model, {});
    for (double c = 100; c < 20'000; c += 100) {
      EXPECT_NEAR(coarse.hits_at(c), fine.hits_at(c), 0.002 * fine.accesses) << "capacity " << c;
    }
  }
}

// Independent references: both models are right in the mean. Long enough that
// first references, which both take for ones that never end, are few.
TEST(ReuseTimes, IndependentReferencesAreEstimatedWell) {
  Random random(9);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 1'000'000; ++i) keys.push_back(random.below(1 + random.below(3000)));
  const HitCurve exact(exact_histogram(keys));
  for (const auto model : {DepthModel::kAverageEviction, DepthModel::kExpectedDistance}) {
    const CurveEstimate curve = curve_of_keys(keys, model, {});
    for (Count c = 30; c < 3000; c += 30) {
      EXPECT_NEAR(curve.hits_at(static_cast<double>(c)) / curve.accesses, exact.ratio(c), 0.005)
          << "capacity " << c;
    }
  }
}

TEST(ReuseTimes, SamplesEstimateTheWhole) {
  Random random(10);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 400'000; ++i) keys.push_back(random.below(1 + random.below(5000)));
  const CurveEstimate whole = curve_of_keys(keys, DepthModel::kAverageEviction, {});
  const auto expect_near = [&](const ReuseTimeParams& params, double most_samples) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      ReuseTimes times(params, seed);
      times.process(keys);
      const auto samples = static_cast<double>(times.measured());
      EXPECT_LE(samples, most_samples);
      const CurveEstimate curve = curve_of(times, DepthModel::kAverageEviction);
      EXPECT_EQ(curve.accesses, whole.accesses);
      // Four standard errors of a share, and as much again for the depth.
      for (double c = 100; c < 5000; c += 100) {
        EXPECT_NEAR(curve.hits_at(c) / curve.accesses, whole.hits_at(c) / whole.accesses,
                    8 * 0.5 / std::sqrt(samples))
            << "capacity " << c << ", seed " << seed;
      }
    }
  };
  expect_near({.rate = 0.1}, 42'000);
  expect_near({.rate = 0.01}, 4500);
  expect_near({.rate = 1, .reservoir = 4000}, 4000);
  expect_near({.rate = 0.1, .reservoir = 4000}, 4000);
}

TEST(ReuseTimes, AReservoirThatHoldsAllMeasuresAll) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    ReuseTimes all(kExactBins, 1);
    ReuseTimes kept({.bins = kExactBins.bins, .rate = 1, .reservoir = 1000}, 1);
    all.process(stream.keys);
    kept.process(stream.keys);
    EXPECT_EQ(kept.distinct(), all.distinct()) << stream.name;
    EXPECT_EQ(curve_of(kept, DepthModel::kAverageEviction).hits,
              curve_of(all, DepthModel::kAverageEviction).hits)
        << stream.name;
  }
}

TEST(ReuseTimes, AReservoirBoundsMemory) {
  ReuseTimes times({.bins = 256, .rate = 1, .reservoir = 100}, 1);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t i = 0; i < 200'000; ++i) keys.push_back(mix64(i));
  times.process(keys);
  EXPECT_EQ(times.measured(), 100);
  EXPECT_LT(times.bytes(), 16'000);
  EXPECT_DOUBLE_EQ(times.distinct(), 200'000);
}

}  // namespace
}  // namespace mcsim
