// Trusts: ShardsRate on the whole stream.
#include "core/locality/estimators/partial_sample.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/locality/estimators/shards_rate.hpp"
#include "tests/support/streams.hpp"

namespace mcsim {
namespace {

using testing::HasSubstr;

struct Stream {
  std::vector<std::uint64_t> keys;
  std::vector<Nanoseconds> times;  // several references at most times
};

Stream random_stream(std::size_t count, std::uint64_t seed) {
  Stream stream{streams::zipf(count, 5000, 0.8, seed), {}};
  Random random(seed);
  Nanoseconds time = -5;
  for (std::size_t i = 0; i < count; ++i) {
    time += static_cast<Nanoseconds>(random.below(4)) / 3;
    stream.times.push_back(time);
  }
  return stream;
}

// The references from `begin` to before `end`, with blocks numbered in the order of their keys.
PartialSample sampled(const Stream& stream, std::size_t begin, std::size_t end,
                      ShardsRate::Params params) {
  const auto keys = std::span(stream.keys).subspan(begin, end - begin);
  std::vector<std::uint64_t> key_of(keys.begin(), keys.end());
  std::ranges::sort(key_of);
  key_of.erase(std::ranges::unique(key_of).begin(), key_of.end());
  std::vector<std::uint32_t> numbers;
  for (const auto key : keys) {
    numbers.push_back(
        static_cast<std::uint32_t>(std::ranges::lower_bound(key_of, key) - key_of.begin()));
  }
  const auto times = std::span(stream.times).subspan(begin, end - begin);
  return analyse_sample(numbers, key_of, times, params, 7).value();
}

CurveEstimate whole_curve(const Stream& stream, ShardsRate::Params params) {
  ShardsRate whole(params, {.seed = 7});
  EXPECT_TRUE(whole.process({.keys = stream.keys, .times = stream.times}).ok());
  return whole.curve().value();
}

void expect_equal(const CurveEstimate& found, const CurveEstimate& expected) {
  EXPECT_EQ(found.capacity, expected.capacity);
  EXPECT_EQ(found.hits, expected.hits);
  EXPECT_EQ(found.low, expected.low);
  EXPECT_EQ(found.high, expected.high);
  EXPECT_EQ(found.accesses, expected.accesses);
  EXPECT_EQ(found.resolved_from, expected.resolved_from);
  EXPECT_EQ(found.note, expected.note);
}

TEST(PartialSample, AnyTreeOfMergesHasTheCurveOfTheWhole) {
  const Stream stream = random_stream(20'000, 3);
  for (const double rate : {0.02, 0.3, 1.0}) {
    const ShardsRate::Params params{.rate = rate};
    const CurveEstimate expected = whole_curve(stream, params);
    for (const std::size_t count : {1, 2, 7, 64}) {
      Random random(count);
      std::vector<std::size_t> cuts{0};
      for (std::size_t piece = 1; piece < count; ++piece) {
        // A piece begins at a new time; it may be empty.
        std::size_t at = std::max(cuts.back(), stream.keys.size() * piece / count);
        while (at < stream.keys.size() && stream.times[at] == stream.times[at - 1]) ++at;
        cuts.push_back(at);
      }
      cuts.push_back(stream.keys.size());
      std::vector<PartialSample> pieces;
      for (std::size_t piece = 0; piece < count; ++piece) {
        pieces.push_back(sampled(stream, cuts[piece], cuts[piece + 1], params));
      }
      if (random.below(2) == 0) pieces.front().start();
      if (random.below(2) == 0) pieces.back().end();
      while (pieces.size() > 1) {
        const auto at = static_cast<std::ptrdiff_t>(random.below(pieces.size() - 1));
        const auto left = pieces.begin() + at;
        *left = merge(std::move(left[0]), left[1]).value();
        pieces.erase(left + 1);
      }
      EXPECT_TRUE(pieces.front().check().ok());
      expect_equal(pieces.front().curve(), expected);
    }
  }
}

TEST(PartialSample, WrongPiecesAreRefused) {
  const Stream stream = random_stream(100, 1);
  PartialSample left = sampled(stream, 0, 50, {.rate = 0.5});
  const PartialSample right = sampled(stream, 50, 100, {.rate = 0.25});
  EXPECT_THAT(merge(left, right).status().message(), HasSubstr("different parameters or seeds"));
  left.end();
  EXPECT_THAT(merge(left, sampled(stream, 50, 100, {.rate = 0.5})).status().message(),
              HasSubstr("nothing follows a last piece"));
  const std::vector<std::uint32_t> numbers{0, 1};
  const std::vector<std::uint64_t> keys{5};
  const std::vector<Nanoseconds> times{0, 0};
  EXPECT_THAT(analyse_sample(numbers, keys, times, {}, 1).status().message(),
              HasSubstr("a number without a key"));
  EXPECT_THAT(analyse_sample(std::span(numbers).first(1), keys, times, {}, 1).status().message(),
              HasSubstr("times: 2 of them for 1 blocks"));
  left.kept.blocks.push_back(0);
  EXPECT_FALSE(left.check().ok());
}

}  // namespace
}  // namespace mcsim
