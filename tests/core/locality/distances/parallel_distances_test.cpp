// Trusts: Mattson's stack as a list on small streams, the sequential engine on large ones.
#include "core/locality/distances/parallel_distances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/random.hpp"
#include "core/locality/estimators/registry.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using naive::Keys;

void expect_equal(const Keys& keys, const ParallelOptions& options, Random& random,
                  const DistanceHistogram& expected) {
  ParallelDistances distances(options);
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t count = std::min<std::size_t>(random.below(400), keys.size() - at);
    ASSERT_TRUE(distances.process(std::span(keys).subspan(at, count)).ok());
    at += count;
  }
  ASSERT_EQ(distances.histogram().value(), expected);
  ASSERT_EQ(distances.distinct(), expected.cold);
}

TEST(ParallelDistances, ThreadsAndSegmentsChangeNothing) {
  Random random(1);
  for (const auto& [name, keys] : naive::awkward_streams()) {
    const DistanceHistogram expected = naive::histogram(keys);
    for (const int threads : {1, 2, 3, 5, 16}) {
      for (const std::size_t segment : {0, 1, 7, 100, 448, 1000}) {
        SCOPED_TRACE(testing::Message()
                     << name << ", " << threads << " threads, segments of " << segment);
        expect_equal(keys, {.threads = threads, .segment = segment}, random, expected);
      }
    }
  }
}

TEST(ParallelDistances, ChanceFindsNoCounterexample) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Keys keys(random.below(3000));
    const std::uint64_t blocks = 1 + random.below(random.below(2) == 0 ? 20 : 1500);
    // Narrow keys, wide ones, or the one kind after the other.
    const std::uint64_t wide_from = random.below(3) * keys.size() / 2;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys[i] = random.below(1 + random.below(blocks));
      if (i >= wide_from) keys[i] = mix64(keys[i]);
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_equal(
        keys, {.threads = static_cast<int>(1 + random.below(8)), .segment = 1 + random.below(1000)},
        random, naive::histogram(keys));
  }
}

// Long enough for the time axis to be used up and for the tables to grow.
TEST(ParallelDistances, EqualOneThreadOnALongStream) {
  Random random(2);
  Keys keys(1'500'000);
  for (auto& key : keys) key = random.below(1 + random.below(120'000));
  for (const int bin_bits : {0, 5}) {
    ExactDistances one_thread({.bin_bits = bin_bits});
    ASSERT_TRUE(one_thread.process(keys).ok());
    const DistanceHistogram expected = one_thread.histogram();
    for (const int threads : {1, 2, 4, 7}) {
      for (const std::size_t segment : {10'000, 130'000, 0}) {
        SCOPED_TRACE(testing::Message() << threads << " threads, segments of " << segment);
        ParallelDistances distances(
            {.threads = threads, .segment = segment, .distances = {.bin_bits = bin_bits}});
        ASSERT_TRUE(distances.process(keys).ok());
        EXPECT_EQ(distances.histogram().value(), expected);
        EXPECT_EQ(distances.distinct(), one_thread.distinct());
      }
    }
  }
}

TEST(ParallelDistances, TheStreamGoesOnAfterAResult) {
  Random random(3);
  Keys keys;
  ParallelDistances distances({.threads = 3});
  for (int piece = 0; piece < 40; ++piece) {
    Keys next(random.below(60));
    for (auto& key : next) key = random.below(1 + random.below(90));
    ASSERT_TRUE(distances.process(next).ok());
    keys.insert(keys.end(), next.begin(), next.end());
    ASSERT_EQ(distances.histogram().value(), naive::histogram(keys));
    ASSERT_EQ(distances.distinct(), naive::unique(keys));
  }
}

TEST(ParallelDistances, ThreadsOfTheExactEstimatorChangeNothing) {
  Random random(4);
  Keys keys(5000);
  for (auto& key : keys) key = random.below(1 + random.below(900));
  const CurveEstimate expected = exact_estimate(naive::histogram(keys));
  for (const int threads : {1, 2, 3}) {
    const auto exact = estimator_registry().make("exact", {}, {.threads = threads}).value();
    ASSERT_TRUE(exact->process({.keys = keys}).ok());
    EXPECT_EQ(exact->distinct(), static_cast<double>(naive::unique(keys)));
    const CurveEstimate curve = exact->curve().value();
    EXPECT_EQ(curve.capacity, expected.capacity);
    EXPECT_EQ(curve.hits, expected.hits);
    EXPECT_EQ(curve.accesses, expected.accesses);
  }
}

TEST(ParallelDistances, TooManyBlocksAreRefused) {
  ParallelDistances distances({.threads = 2, .segment = 10, .distances = {.max_blocks = 20}});
  Keys keys(25);
  std::iota(keys.begin(), keys.end(), 0U);
  ASSERT_TRUE(distances.process(keys).ok());
  EXPECT_EQ(message_of(distances.histogram().status()),
            "the stream touches more than 20 distinct blocks, the most whose distances can be "
            "told; sample it, or use a larger block size");
  EXPECT_EQ(distances.distinct(), 25);
}

}  // namespace
}  // namespace mcsim
