// Trusts: Mattson's stack as a list.
#include "core/locality/estimators/parda.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/estimators/registry.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using naive::Keys;

CurveEstimate by_mattson(const Keys& keys, Count limit) {
  return exact_estimate(naive::histogram(keys, limit));
}

void expect_equal(const CurveEstimate& found, const CurveEstimate& expected) {
  EXPECT_EQ(found.capacity, expected.capacity);
  EXPECT_EQ(found.hits, expected.hits);
  EXPECT_EQ(found.accesses, expected.accesses);
}

TEST(Parda, ChunksAndThreadsChangeNothing) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    for (const Count limit : {0, 1, 64, 300}) {
      const CurveEstimate expected = by_mattson(keys, limit);
      for (const Count chunks : {0, 1, 2, 3, 7, 16, 100}) {
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(testing::Message() << name << ", limit " << limit << ", " << chunks
                                          << " chunks, " << threads << " threads");
          PardaEstimator parda({.chunks = chunks, .limit = limit}, {.threads = threads});
          ASSERT_TRUE(parda.process({.keys = keys}).ok());
          expect_equal(parda.curve().value(), expected);
        }
      }
    }
  }
}

TEST(Parda, TheStreamGoesOnAfterACurve) {
  Random random(8);
  PardaEstimator parda({.chunks = 3}, {.threads = 2});
  Keys keys;
  for (int piece = 0; piece < 20; ++piece) {
    Keys next(random.below(60));
    for (auto& key : next) key = random.below(1 + random.below(90));
    ASSERT_TRUE(parda.process({.keys = next}).ok());
    keys.insert(keys.end(), next.begin(), next.end());
    expect_equal(parda.curve().value(), by_mattson(keys, 0));
    EXPECT_EQ(parda.distinct(), static_cast<double>(naive::unique(keys)));
  }
}

// Longer than a segment.
TEST(Parda, SegmentsChangeNothing) {
  Random random(9);
  Keys keys((std::size_t{5} << 20) + 77);
  for (auto& key : keys) key = mix64(random.below(1 + random.below(30'000)));
  const DistanceHistogram whole = histogram_of(keys).value();
  for (const Count limit : {0, 500}) {
    DistanceHistogram expected = whole;
    if (limit > 0) expected.truncate(limit);
    PardaEstimator parda({.chunks = 4, .limit = limit}, {.threads = 2});
    const References all{.keys = keys};
    for (std::size_t at = 0; at < keys.size(); at += 700'000) {
      ASSERT_TRUE(
          parda.process(all.subspan(at, std::min<std::size_t>(700'000, keys.size() - at))).ok());
    }
    expect_equal(parda.curve().value(), exact_estimate(expected));
    // Exact without a limit; with one, within four standard errors.
    const auto distinct = static_cast<double>(whole.cold);
    EXPECT_NEAR(parda.distinct(), distinct, limit == 0 ? 0 : 4 * 1.04 / 128 * distinct);
  }
}

TEST(Parda, AnyParametersFromTheRegistry) {
  const auto made = estimator_registry().make("parda", {{"limit", std::int64_t{2}}}, {});
  ASSERT_TRUE(made.ok());
  const Keys keys{1, 2, 1, 3, 4, 1, 4};
  ASSERT_TRUE((*made)->process({.keys = keys}).ok());
  expect_equal((*made)->curve().value(), by_mattson(keys, 2));
  EXPECT_EQ(
      message_of(estimator_registry().make("parda", {{"chunks", std::int64_t{-1}}}, {}).status()),
      "parda: chunks: -1 is outside [0, 65536]");
}

}  // namespace
}  // namespace mcsim
