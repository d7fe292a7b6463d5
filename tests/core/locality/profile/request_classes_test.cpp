// Trusts: the worked examples of ECI-Cache, and naive stacks of all accesses and
// of the reads alone.
#include "core/locality/profile/request_classes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "core/locality/estimators/urd.hpp"
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

RequestClasses classes_of(const References& references, bool count_writes = true) {
  RequestClasses classes(count_writes);
  EXPECT_TRUE(classes.process(references).ok());
  return classes;
}

TEST(RequestClasses, OneBlock) {
  const Script script("W1 W1 R1 R1 W1");
  const RequestClasses classes = classes_of(script.view());
  for (const RequestClass of : kRequestClasses) {
    EXPECT_EQ(classes.accesses(of), 1);
    EXPECT_DOUBLE_EQ(classes.fraction(of), 0.2);
    EXPECT_EQ(classes.max_distance(of), 0);
  }
  EXPECT_EQ(classes.cold_writes(), 1);
  EXPECT_EQ(classes.cold_reads(), 0);
  EXPECT_EQ(classes.urd_size(), 1);
}

TEST(RequestClasses, TheExampleOfECICache) {
  const Script script("W1 W2 R1 R3 R5 R6 R2");
  const RequestClasses classes = classes_of(script.view());
  EXPECT_EQ(classes.urd(), (DistanceHistogram{.distance = {1, 4}, .count = {1, 1}, .cold = 5}));
  EXPECT_EQ(classes.max_distance(RequestClass::kRaw), 4);
  EXPECT_EQ(classes.max_distance(RequestClass::kWaw), -1);
  EXPECT_EQ(classes.urd_size(), 5);
  EXPECT_EQ(classes.urd_size(0.5), 2);
  EXPECT_EQ(classes.cold_reads(), 3);
  EXPECT_EQ(classes.cold_writes(), 2);
}

TEST(RequestClasses, WritesAloneNeedNoCache) {
  const Script script("W1 W2 W3 W1 W2 W3");
  const RequestClasses classes = classes_of(script.view());
  EXPECT_EQ(classes.urd_size(), 0);
  EXPECT_EQ(classes.urd().cold, 6);
  EXPECT_EQ(classes.trd(), (DistanceHistogram{.distance = {2}, .count = {3}, .cold = 3}));
}

TEST(RequestClasses, DistancesOfReadsAmongEachOther) {
  // Read 2 comes after a write, but is the first to bring the block in.
  const Script script("R1 W2 W3 R1 R2 W1 R1");
  const RequestClasses classes = classes_of(script.view(), false);
  EXPECT_EQ(classes.distances(RequestClass::kRar),
            (DistanceHistogram{.distance = {0}, .count = {1}, .cold = 0}));
  EXPECT_EQ(classes.distances(RequestClass::kRaw),
            (DistanceHistogram{.distance = {1}, .count = {1}, .cold = 1}));
  EXPECT_EQ(classes.distances(RequestClass::kWar),
            (DistanceHistogram{.distance = {}, .count = {}, .cold = 1}));
}

std::vector<std::uint8_t> random_ops(std::size_t length) {
  Random random(5);
  std::vector<std::uint8_t> ops;
  for (std::size_t i = 0; i < length; ++i) {
    ops.push_back(static_cast<std::uint8_t>(random.below(2)));
  }
  return ops;
}

TEST(RequestClasses, AreThoseOfNaiveStacks) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    SCOPED_TRACE(stream.name);
    const std::vector<std::uint8_t> ops = random_ops(stream.keys.size());
    const RequestClasses classes = classes_of({.keys = stream.keys, .times = {}, .ops = ops});
    const std::vector<Count> distance = naive::distances(stream.keys);
    std::array<std::map<Count, Count>, 4> expected;
    std::map<std::uint64_t, std::uint8_t> last;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (distance[i] >= 0) ++expected[2 * ops[i] + last[stream.keys[i]]][distance[i]];
      last[stream.keys[i]] = ops[i];
    }
    for (const RequestClass of : kRequestClasses) {
      const DistanceHistogram found = classes.distances(of);
      const auto& wanted = expected[static_cast<std::size_t>(of)];
      ASSERT_EQ(found.distance.size(), wanted.size());
      std::size_t i = 0;
      for (const auto& [d, count] : wanted) {
        EXPECT_EQ(found.distance[i], d);
        EXPECT_EQ(found.count[i++], count);
      }
    }
    const HitCurve urd(classes.urd());
    const HitCurve trd(classes.trd());
    EXPECT_EQ(urd.accesses(), static_cast<Count>(stream.keys.size()));
    EXPECT_EQ(trd.accesses(), urd.accesses());
    EXPECT_LE(urd.saturation(), trd.saturation());
    const Count last_write = std::max(classes.max_distance(RequestClass::kWar),
                                      classes.max_distance(RequestClass::kWaw));
    EXPECT_EQ(urd.saturation() == trd.saturation(), last_write < urd.saturation());
  }
}

TEST(RequestClasses, ReadsAmongEachOtherAreAStreamOfTheirOwn) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    const std::vector<std::uint8_t> ops = random_ops(stream.keys.size());
    std::vector<std::uint64_t> reads;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i] == static_cast<std::uint8_t>(Op::kRead)) reads.push_back(stream.keys[i]);
    }
    const HitCurve urd(classes_of({.keys = stream.keys, .times = {}, .ops = ops}, false).urd());
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
            "request classes need to know of every reference whether it reads or writes; this "
            "trace does not tell");
}

}  // namespace
}  // namespace mcsim
