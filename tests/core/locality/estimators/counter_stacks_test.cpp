// Trusts: exact distances where batches have one reference, a naive stack of
// sets elsewhere, and a second stack for every window of the first.
#include "core/locality/estimators/counter_stacks.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/exact_histogram.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using Params = CounterStacksEstimator::Params;

Params exact(Count batch, double pruning = 0) {
  return {.batch = batch,
          .batch_time = {},
          .pruning = pruning,
          .counter = StackCounter::kExact,
          .stream = true};
}

std::vector<std::uint64_t> skewed(std::size_t length, std::uint64_t blocks, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < length; ++i) keys.push_back(random.below(1 + random.below(blocks)));
  return keys;
}

CurveEstimate curve_of(const References& references, const Params& params) {
  CounterStacksEstimator stack(params, {});
  EXPECT_TRUE(stack.process(references).ok());
  return stack.curve().value();
}

// Hits by capacity of a stack of sets that drops none.
std::map<Count, double> naive_steps(std::span<const std::uint64_t> keys, std::size_t batch) {
  std::vector<std::set<std::uint64_t>> counters;
  std::map<Count, double> steps;
  for (std::size_t at = 0; at < keys.size(); at += batch) {
    const auto piece = keys.subspan(at, std::min(batch, keys.size() - at));
    counters.emplace_back();
    auto unknown = static_cast<double>(piece.size());
    for (auto counter = counters.rbegin(); counter != counters.rend(); ++counter) {
      const auto before = static_cast<double>(counter->size());
      counter->insert(piece.begin(), piece.end());
      const double added = static_cast<double>(counter->size()) - before;
      if (added < unknown) steps[static_cast<Count>(counter->size())] += unknown - added;
      unknown = added;
    }
  }
  return steps;
}

TEST(CounterStacks, BatchesOfOneAreExact) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    const CurveEstimate expected = exact_estimate(exact_histogram(stream.keys));
    const CurveEstimate curve = curve_of({.keys = stream.keys}, exact(1));
    EXPECT_EQ(curve.capacity, expected.capacity) << stream.name;
    EXPECT_EQ(curve.hits, expected.hits) << stream.name;
  }
}

TEST(CounterStacks, AreTheirDefinition) {
  for (const naive::NamedStream& stream : naive::awkward_streams()) {
    for (const std::size_t batch : {2, 7, 64, 1000}) {
      SCOPED_TRACE(fmt::format("{} {}", stream.name, batch));
      const CurveEstimate curve = curve_of({.keys = stream.keys}, exact(static_cast<Count>(batch)));
      double hits = 0;
      for (const auto& [capacity, more] : naive_steps(stream.keys, batch)) {
        hits += more;
        EXPECT_EQ(curve.hits_at(static_cast<double>(capacity)), hits);
      }
      EXPECT_EQ(curve.hits_at(1e9), hits);
    }
  }
}

TEST(CounterStacks, PruningKeepsFewCountersAndTheCurve) {
  const auto keys = skewed(100'000, 20'000, 1);
  const CurveEstimate whole = curve_of({.keys = keys}, exact(1000));
  CounterStacksEstimator pruned(exact(1000, 0.05), {});
  ASSERT_TRUE(pruned.process({.keys = keys}).ok());
  const CurveEstimate curve = pruned.curve().value();
  for (double c = 1000; c < 20'000; c += 100) {
    EXPECT_NEAR(curve.hits_at(c), whole.hits_at(c), 0.06 * whole.accesses) << "capacity " << c;
  }
  EXPECT_EQ(curve.hits_at(1e9), whole.hits_at(1e9));
  // One counter a batch would be 5050; ln(20'000 / 500) / 0.05 = 74 is the most at a time.
  EXPECT_LT(pruned.stream().value().started.size(), 4000);
}

TEST(CounterStacks, SketchesComeCloseToSets) {
  const auto keys = skewed(200'000, 50'000, 2);
  const CurveEstimate sets = curve_of({.keys = keys}, exact(2000));
  for (const std::uint64_t seed : {1, 2, 3}) {
    CounterStacksEstimator stack({.batch = 2000, .pruning = 0}, {.seed = seed});
    ASSERT_TRUE(stack.process({.keys = keys}).ok());
    const CurveEstimate sketches = stack.curve().value();
    // A sketch errs by 1.6 % of the capacity.
    double error = 0;
    for (double c = 2000; c <= 50'000; c += 2000) {
      error += std::abs(sketches.hits_at(c) - sets.hits_at(c)) / sets.accesses / 25;
    }
    EXPECT_LT(error, 0.015) << "seed " << seed;
    EXPECT_NEAR(stack.distinct(), static_cast<double>(naive::unique(keys)),
                4 * 0.0163 * stack.distinct());
  }
}

TEST(CounterStacks, ABatchEndsByCountOrByTime) {
  const std::vector<std::uint64_t> keys(10, 1);
  const std::vector<Nanoseconds> times{5, 6, 14, 15, 24, 25, 26, 27, 90, 91};
  CounterStacksEstimator stack(
      {.batch = 3, .batch_time = {10}, .counter = StackCounter::kExact, .stream = true}, {});
  ASSERT_TRUE(stack.process({.keys = keys, .times = times}).ok());
  const CounterStream stream = stack.stream().value();
  EXPECT_EQ(stream.time, (std::vector<Nanoseconds>{5, 15, 25, 90}));
  EXPECT_EQ(stream.references, (std::vector<Count>{3, 2, 3, 2}));
}

// A window's curve is that of a stack that meets its batches and nothing else.
TEST(CounterStacks, AnyWindowHasItsCurve) {
  std::vector<naive::NamedStream> streams = naive::awkward_streams();
  streams.push_back({"long", skewed(6000, 900, 3)});
  for (const naive::NamedStream& stream : streams) {
    const std::size_t batch = stream.keys.size() > 1000 ? 100 : 9;
    CounterStacksEstimator stack(exact(static_cast<Count>(batch)), {});
    ASSERT_TRUE(stack.process({.keys = stream.keys}).ok());
    const CounterStream kept = stack.stream().value();
    Random random(7);
    for (int i = 0; i < 40; ++i) {
      const std::size_t batches = (stream.keys.size() + batch - 1) / batch;
      const std::size_t from = batch * random.below(batches + 1);
      const std::size_t to = from + batch * random.below(batches + 2);
      SCOPED_TRACE(fmt::format("{} [{}, {})", stream.name, from, to));
      const std::size_t end = std::min(to, stream.keys.size());
      const std::size_t begin = std::min(from, end);
      const auto piece = std::span(stream.keys).subspan(begin, end - begin);
      const CurveEstimate window = kept.curve(static_cast<Nanoseconds>(from),
                                              static_cast<Nanoseconds>(to), StackCounter::kExact)
                                       .value();
      const CurveEstimate fresh = curve_of({.keys = piece}, exact(static_cast<Count>(batch)));
      EXPECT_EQ(window.capacity, fresh.capacity);
      EXPECT_EQ(window.hits, fresh.hits);
      EXPECT_EQ(window.accesses, fresh.accesses);
    }
  }
}

TEST(CounterStacks, TheWholeStreamIsAWindow) {
  const auto keys = skewed(50'000, 9000, 4);
  CounterStacksEstimator stack({.batch = 1000, .stream = true}, {});
  ASSERT_TRUE(stack.process({.keys = keys}).ok());
  const CurveEstimate whole = stack.curve().value();
  const CurveEstimate window =
      stack.stream().value().curve(0, 50'000, StackCounter::kHyperLogLog).value();
  EXPECT_EQ(window.capacity, whole.capacity);
  EXPECT_EQ(window.hits, whole.hits);
}

TEST(CounterStacks, RefusesAStreamItDoesNotHave) {
  CounterStacksEstimator stack(Params{}, {});
  EXPECT_EQ(message_of(stack.stream().status()),
            "counter-stacks: no stream was kept (set stream to true)");
  CounterStream odd;
  odd.time = {1, 2};
  EXPECT_EQ(message_of(odd.curve(0, 9, StackCounter::kExact).status()),
            "counter stream: columns of 2 batches and 0 counts do not match");
  odd = {.time = {1}, .references = {1}, .end = {1}, .started = {3}, .distinct = {1}};
  EXPECT_EQ(message_of(odd.curve(0, 9, StackCounter::kExact).status()),
            "counter stream: batch 0 has no counter of its own");
  odd.started = {0};
  EXPECT_TRUE(odd.curve(0, 9, StackCounter::kExact).ok());
  odd.distinct = {1e300};
  EXPECT_EQ(message_of(odd.curve(0, 9, StackCounter::kExact).status()),
            "counter stream: a counter of 1e+300 blocks, of 1 batches");
  odd = {.time = {1, 2, 3},
         .references = {1, 1, 1},
         .end = {1, 3, 6},
         .started = {0, 0, 1, 0, 1, 2},
         .distinct = {1, 1, 1, 1, 1, 1}};
  EXPECT_TRUE(odd.curve(0, 9, StackCounter::kExact).ok());
  odd.end[1] = 2;
  odd.started = {0, 1, 0, 1, 2, 2};
  EXPECT_EQ(message_of(odd.curve(0, 9, StackCounter::kExact).status()),
            "counter stream: batch 1 lacks the counter of batch 0");
}

}  // namespace
}  // namespace mcsim
