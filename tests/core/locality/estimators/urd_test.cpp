// Trusts: the worked examples of ECI-Cache, and naive stacks of all accesses and
// of the reads alone.
#include "core/locality/estimators/urd.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "core/locality/hit_curve.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

// "W1 R2": a write of block 1, a read of block 2.
struct Script {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> ops;

  explicit Script(std::string_view text) {
    for (std::size_t i = 0; i + 1 < text.size(); i += 3) {
      ops.push_back(static_cast<std::uint8_t>(text[i] == 'W' ? Op::kWrite : Op::kRead));
      keys.push_back(static_cast<std::uint64_t>(text[i + 1] - '0'));
    }
  }

  References view() const { return {.keys = keys, .times = {}, .ops = ops}; }
};

DistanceHistogram urd_of(const References& references, bool count_writes = true) {
  UrdEstimator estimator({.count_writes = count_writes}, {});
  EXPECT_TRUE(estimator.process(references).ok());
  return estimator.histogram();
}

TEST(UrdEstimator, OneBlock) {
  const Script script("W1 W1 R1 R1 W1");
  EXPECT_EQ(urd_of(script.view()), (DistanceHistogram{.distance = {0}, .count = {2}, .cold = 3}));
}

TEST(UrdEstimator, TheExampleOfECICache) {
  const Script script("W1 W2 R1 R3 R5 R6 R2");
  EXPECT_EQ(urd_of(script.view()),
            (DistanceHistogram{.distance = {1, 4}, .count = {1, 1}, .cold = 5}));
}

TEST(UrdEstimator, WritesAloneNeedNoCache) {
  const Script script("W1 W2 W3 W1 W2 W3");
  EXPECT_EQ(urd_of(script.view()), (DistanceHistogram{.distance = {}, .count = {}, .cold = 6}));
}

TEST(UrdEstimator, DistancesOfReadsAmongEachOther) {
  // Read 2 comes after a write, but is the first to bring the block in.
  const Script script("R1 W2 W3 R1 R2 W1 R1");
  EXPECT_EQ(urd_of(script.view(), false),
            (DistanceHistogram{.distance = {0, 1}, .count = {1, 1}, .cold = 5}));
}

std::vector<std::uint8_t> random_ops(std::size_t length) {
  Random random(5);
  std::vector<std::uint8_t> ops;
  for (std::size_t i = 0; i < length; ++i) {
    ops.push_back(static_cast<std::uint8_t>(random.below(2)));
  }
  return ops;
}

TEST(UrdEstimator, DistancesAreThoseOfNaiveStacks) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    SCOPED_TRACE(stream.name);
    const std::vector<std::uint8_t> ops = random_ops(stream.keys.size());
    const std::vector<Count> distance = naive::distances(stream.keys);
    std::map<Count, Count> reads;
    DistanceHistogram expected{.distance = {}, .count = {}, .cold = 0};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const bool is_useful = distance[i] >= 0 && static_cast<Op>(ops[i]) == Op::kRead;
      ++(is_useful ? reads[distance[i]] : expected.cold);
    }
    for (const auto& [d, count] : reads) {
      expected.distance.push_back(d);
      expected.count.push_back(count);
    }
    EXPECT_EQ(urd_of({.keys = stream.keys, .times = {}, .ops = ops}), expected);
  }
}

TEST(UrdEstimator, ReadsAmongEachOtherAreAStreamOfTheirOwn) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    const std::vector<std::uint8_t> ops = random_ops(stream.keys.size());
    std::vector<std::uint64_t> reads;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i] == static_cast<std::uint8_t>(Op::kRead)) reads.push_back(stream.keys[i]);
    }
    const HitCurve urd(urd_of({.keys = stream.keys, .times = {}, .ops = ops}, false));
    for (const Count capacity : {1, 4, 30, 64, 100}) {
      EXPECT_EQ(urd.hits(capacity), naive::lru_hits(reads, static_cast<std::size_t>(capacity)))
          << stream.name;
    }
  }
}

TEST(UrdEstimator, WithoutWritesIsExact) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    const std::vector<std::uint8_t> reads(stream.keys.size());
    UrdEstimator estimator({}, {});
    ASSERT_TRUE(estimator.process({.keys = stream.keys, .times = {}, .ops = reads}).ok());
    const CurveEstimate curve = estimator.curve().value();
    for (const std::size_t capacity : {1, 4, 30, 64, 100}) {
      EXPECT_EQ(curve.hits_at(static_cast<double>(capacity)),
                static_cast<double>(naive::lru_hits(stream.keys, capacity)))
          << stream.name;
    }
  }
}

TEST(UrdEstimator, NeedsOperations) {
  UrdEstimator estimator({}, {});
  const std::vector<std::uint64_t> keys{1, 2};
  EXPECT_EQ(message_of(estimator.process({.keys = keys})),
            "urd needs the operation of every reference: expected a trace with operations");
}

}  // namespace
}  // namespace mcsim
