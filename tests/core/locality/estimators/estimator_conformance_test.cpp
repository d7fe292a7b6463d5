// Trusts: the laws every curve obeys, whatever estimates it; and that a stream is
// the same stream however it is handed over.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/locality/estimators/registry.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

struct Case {
  std::string estimator;
  ParamMap params;
};

// Every member of the list as it comes, and those that take another path through
// their code with other parameters.
std::vector<Case> cases() {
  const auto number = [](std::int64_t n) { return ParamValue(n); };
  std::vector<Case> all{
      {"exact", {{"bin_bits", number(3)}}},
      {"parda", {{"chunks", number(5)}, {"limit", number(700)}}},
      {"counter-stacks", {{"batch", number(500)}, {"pruning", 0.1}, {"stream", true}}},
      {"counter-stacks", {{"batch", number(7)}, {"counter", std::string("exact")}}},
      {"mimir", {{"ageing", std::string("stacker")}}},
      {"mimir", {{"capacity", number(100)}, {"buckets", number(5)}}},
      {"aet", {{"rate", 0.1}}},
      {"aet", {{"rate", 0.5}, {"reservoir", number(50)}}},
      {"urd", {{"count_writes", false}}},
      {"shards", {{"max_blocks", number(64)}, {"correction", std::string("adj")}}},
      {"shards",
       {{"max_blocks", number(64)},
        {"hot_blocks", number(16)},
        {"correction", std::string("hot")}}},
      {"shards-rate", {{"rate", 0.1}}},
      {"shards-rate", {{"rate", 0.1}, {"correction", std::string("none")}}},
  };
  for (const auto& entry : estimator_registry().entries()) all.push_back({entry.info.name, {}});
  return all;
}

// A stream with all inputs of estimators.
struct Stream {
  std::string name;
  std::vector<std::uint64_t> keys;
  std::vector<Nanoseconds> times;
  std::vector<std::uint8_t> ops;

  References view() const { return {.keys = keys, .times = times, .ops = ops}; }
};

Stream stream_of(std::string name, std::vector<std::uint64_t> keys) {
  Stream stream{.name = std::move(name), .keys = std::move(keys), .times = {}, .ops = {}};
  Random random(3);
  Nanoseconds now = 1'000'000 * kSecond;
  for (std::size_t i = 0; i < stream.keys.size(); ++i) {
    now += static_cast<Nanoseconds>(random.below(kSecond / 10));
    stream.times.push_back(now);
    stream.ops.push_back(static_cast<std::uint8_t>(random.below(3) == 0 ? Op::kWrite : Op::kRead));
  }
  return stream;
}

std::vector<std::uint64_t> skewed(std::size_t length, std::uint64_t blocks) {
  Random random(11);
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < length; ++i) keys.push_back(random.below(1 + random.below(blocks)));
  return keys;
}

std::vector<std::uint64_t> all_different(std::size_t length) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < length; ++i) keys.push_back(mix64(i));
  return keys;
}

std::vector<Stream> streams() {
  std::vector<Stream> result;
  for (naive::NamedStream& stream : naive::awkward_streams()) {
    result.push_back(stream_of(stream.name, std::move(stream.keys)));
  }
  result.push_back(stream_of("long and skewed", skewed(30'000, 9000)));
  result.push_back(stream_of("long and all different", all_different(30'000)));
  return result;
}

// Twice the same, to the last bit.
void expect_equal(const CurveEstimate& left, const CurveEstimate& right) {
  EXPECT_EQ(left.capacity, right.capacity);
  EXPECT_EQ(left.hits, right.hits);
  EXPECT_EQ(left.accesses, right.accesses);
  EXPECT_EQ(left.low, right.low);
  EXPECT_EQ(left.high, right.high);
  EXPECT_EQ(left.resolved_from, right.resolved_from);
  EXPECT_EQ(left.note, right.note);
}

class EstimatorConformance : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Estimator> make(EstimatorContext context = {}) const {
    return estimator_registry().make(GetParam().estimator, GetParam().params, context).value();
  }

  CurveEstimate curve_of(const Stream& stream, EstimatorContext context = {}) const {
    const auto estimator = make(context);
    EXPECT_TRUE(estimator->process(stream.view()).ok());
    return estimator->curve().value();
  }
};

TEST_P(EstimatorConformance, CurvesObeyTheirLaws) {
  for (const Stream& stream : streams()) {
    SCOPED_TRACE(stream.name);
    const CurveEstimate curve = curve_of(stream);
    EXPECT_EQ(curve.accesses, static_cast<double>(stream.keys.size()));
    ASSERT_EQ(curve.capacity.size(), curve.hits.size());
    ASSERT_TRUE(std::ranges::is_sorted(curve.capacity));
    EXPECT_EQ(std::ranges::adjacent_find(curve.capacity), curve.capacity.end());
    ASSERT_TRUE(std::ranges::is_sorted(curve.hits));
    EXPECT_GE(curve.resolved_from, 0);
    if (curve.hits.empty()) continue;
    EXPECT_GT(curve.capacity.front(), 0);
    EXPECT_GE(curve.hits.front(), 0);
    EXPECT_LE(curve.hits.back(), curve.accesses);
    ASSERT_EQ(curve.low.size(), curve.high.size());
    if (curve.low.empty()) continue;
    ASSERT_EQ(curve.low.size(), curve.hits.size());
    for (std::size_t i = 0; i < curve.hits.size(); ++i) {
      EXPECT_LE(curve.low[i], curve.hits[i]);
      EXPECT_GE(curve.high[i], curve.hits[i]);
    }
  }
}

TEST_P(EstimatorConformance, PiecesChangeNothing) {
  for (const Stream& stream : streams()) {
    SCOPED_TRACE(stream.name);
    const auto whole = make();
    ASSERT_TRUE(whole->process(stream.view()).ok());
    const auto pieces = make();
    Random random(5);
    for (std::size_t at = 0; at < stream.keys.size();) {
      const std::size_t longest = random.below(4) == 0 ? 3000 : 30;
      const std::size_t count =
          std::min<std::size_t>(random.below(longest), stream.keys.size() - at);
      ASSERT_TRUE(pieces->process(stream.view().subspan(at, count)).ok());
      at += count;
    }
    expect_equal(whole->curve().value(), pieces->curve().value());
    EXPECT_EQ(whole->distinct(), pieces->distinct());
  }
}

TEST_P(EstimatorConformance, AskingForTheCurveDoesNotEndTheStream) {
  const Stream stream = stream_of("skewed", skewed(20'000, 5000));
  const auto estimator = make();
  for (std::size_t at = 0; at < stream.keys.size(); at += 5000) {
    ASSERT_TRUE(estimator->process(stream.view().subspan(at, 5000)).ok());
    EXPECT_EQ(estimator->curve().value().accesses, static_cast<double>(at + 5000));
  }
  expect_equal(estimator->curve().value(), curve_of(stream));
}

TEST_P(EstimatorConformance, EqualSeedsGiveEqualBits) {
  const Stream stream = stream_of("skewed", skewed(30'000, 9000));
  for (const std::uint64_t seed : {1, 2, 77}) {
    expect_equal(curve_of(stream, {.seed = seed}), curve_of(stream, {.seed = seed}));
  }
}

TEST_P(EstimatorConformance, ThreadsChangeNothing) {
  const Stream stream = stream_of("skewed", skewed(30'000, 9000));
  expect_equal(curve_of(stream, {.threads = 1}), curve_of(stream, {.threads = 2}));
}

TEST_P(EstimatorConformance, NothingIsAFlatCurve) {
  const auto estimator = make();
  ASSERT_TRUE(estimator->process({}).ok());
  const CurveEstimate curve = estimator->curve().value();
  EXPECT_EQ(curve.accesses, 0);
  EXPECT_EQ(curve.hits_at(1e9), 0);
  EXPECT_EQ(estimator->distinct(), 0);
  EXPECT_GT(estimator->bytes(), 0);
}

TEST_P(EstimatorConformance, BlocksSeenOnceAreNotHit) {
  const CurveEstimate curve = curve_of(stream_of("all different", all_different(30'000)));
  EXPECT_LE(curve.hits_at(1e9), 0.05 * curve.accesses);
}

TEST_P(EstimatorConformance, MemoryIsReported) {
  const Stream stream = stream_of("skewed", skewed(30'000, 9000));
  const auto estimator = make();
  ASSERT_TRUE(estimator->process(stream.view()).ok());
  EXPECT_GE(estimator->bytes(), sizeof(Estimator));
}

INSTANTIATE_TEST_SUITE_P(All, EstimatorConformance, testing::ValuesIn(cases()),
                         [](const auto& each) {
                           std::string name = each.param.estimator;
                           for (const auto& [parameter, value] : each.param.params) {
                             name += "_" + parameter;
                           }
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace mcsim
