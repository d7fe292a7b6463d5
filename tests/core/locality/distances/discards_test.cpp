// Trusts: LRU caches of every size as lists, which lose discarded blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <numeric>
#include <utility>

#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/request_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/estimators/registry.hpp"
#include "tests/support/isas.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

// Keys, some of which are discarded before the access at a position.
struct Stream {
  naive::Keys keys;
  naive::Keys discard_at;
  naive::Keys discard_keys;

  References view() const {
    return {.keys = keys, .discard_at = discard_at, .discard_keys = discard_keys};
  }
};

Stream random_stream(std::size_t length, std::uint64_t blocks, std::uint64_t discards,
                     std::uint64_t seed) {
  Random random(seed);
  Stream stream;
  for (std::size_t i = 0; i < length; ++i) {
    if (random.below(100) < discards) {
      // A block, or several next to each other; some were never accessed, or discarded twice.
      const std::uint64_t first = random.below(blocks + 2);
      for (std::uint64_t key = first; key <= first + random.below(4); ++key) {
        stream.discard_at.push_back(i);
        stream.discard_keys.push_back(key);
      }
    }
    stream.keys.push_back(random.below(1 + random.below(blocks)));
  }
  stream.discard_at.push_back(length);
  stream.discard_keys.push_back(0);
  return stream;
}

// A byte for each access: whether a cache of that size hits.
std::vector<bool> lru_hits(const Stream& stream, std::size_t capacity) {
  std::list<std::uint64_t> cache;
  std::vector<bool> hits;
  std::size_t next = 0;
  for (std::size_t i = 0; i < stream.keys.size(); ++i) {
    for (; next < stream.discard_at.size() && stream.discard_at[next] == i; ++next) {
      cache.remove(stream.discard_keys[next]);
    }
    const auto found = std::ranges::find(cache, stream.keys[i]);
    hits.push_back(found != cache.end());
    if (found != cache.end()) cache.erase(found);
    cache.push_front(stream.keys[i]);
    if (cache.size() > capacity) cache.pop_back();
  }
  return hits;
}

// The smallest cache that hits, less one.
std::vector<Count> naive_distances(const Stream& stream, std::size_t blocks) {
  std::vector<Count> distances(stream.keys.size(), kCold);
  for (std::size_t capacity = blocks; capacity > 0; --capacity) {
    const std::vector<bool> hits = lru_hits(stream, capacity);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (hits[i]) distances[i] = static_cast<Count>(capacity) - 1;
    }
  }
  return distances;
}

std::vector<Count> dense_distances(const Stream& stream, std::size_t blocks) {
  DenseDistances dense(blocks);
  std::vector<Count> distances(stream.keys.size());
  std::vector<std::uint32_t> keys(stream.keys.begin(), stream.keys.end());
  naive::HoledStack holed;
  std::size_t done = 0;
  const auto count_up_to = [&](std::size_t end) {
    dense.process(std::span(keys).subspan(done, end - done),
                  std::span(distances).subspan(done, end - done));
    for (; done < end; ++done) EXPECT_EQ(distances[done], holed.access(keys[done]));
  };
  for (std::size_t i = 0; i < stream.discard_at.size(); ++i) {
    count_up_to(stream.discard_at[i]);
    if (stream.discard_keys[i] < blocks) {
      EXPECT_EQ(dense.discard(static_cast<std::uint32_t>(stream.discard_keys[i])),
                holed.discard(stream.discard_keys[i]));
    }
  }
  count_up_to(keys.size());
  EXPECT_EQ(dense.distinct(), naive::unique(stream.keys));
  return distances;
}

TEST(Discards, RemoveBlocksFromCachesOfEverySize) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::uint64_t blocks = 1 + seed % 25;
    const Stream stream = random_stream(400, blocks, seed % 3 == 0 ? 60 : 8, seed);
    const std::vector<Count> expected = naive_distances(stream, blocks);
    EXPECT_EQ(distances_of(stream.view()).value(), expected);
    EXPECT_EQ(dense_distances(stream, blocks), expected);
  }
}

// a is discarded from the stack a b c: a cache of two blocks has b alone, and c misses.
TEST(Discards, LeaveAHole) {
  const Stream stream{.keys = {3, 2, 1, 3}, .discard_at = {3}, .discard_keys = {1}};
  EXPECT_EQ(distances_of(stream.view()).value(), (std::vector<Count>{-1, -1, -1, 2}));
}

// Enough accesses to use up the shortest time axis several times.
TEST(Discards, AreKeptWhenTheTimeAxisBeginsAgain) {
  const Stream stream = random_stream(70'000, 12, 1, 5);
  const std::vector<Count> expected = naive_distances(stream, 12);
  EXPECT_EQ(distances_of(stream.view()).value(), expected);
  EXPECT_EQ(dense_distances(stream, 12), expected);
}

// All accesses have slots of one line here.
TEST(Discards, AreCountedAlikeByEveryInstructionSet) {
  const Stream stream = random_stream(400, 30, 10, 8);
  const std::vector<Count> expected = naive_distances(stream, 30);
  for (const Isa which : isas_here()) {
    SCOPED_TRACE(name_of(which));
    DistanceState state(0);
    std::vector<std::uint32_t> last(40);
    std::vector<Count> distances(stream.keys.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < stream.keys.size(); ++i) {
      for (; next < stream.discard_at.size() && stream.discard_at[next] == i; ++next) {
        std::uint32_t& code = last[stream.discard_keys[next]];
        if (code == 0 || code == StackHoles::kDiscarded) continue;
        state.holes.add(std::exchange(code, StackHoles::kDiscarded));
        ++state.holes.discarded;
      }
      const std::uint32_t before =
          std::exchange(last[stream.keys[i]], static_cast<std::uint32_t>(state.axis.now));
      with_this_isa(
          which, [&]<Isa kIsa>() { count_among_holes<kIsa>(state, {&before, 1}, &distances[i]); });
    }
    EXPECT_EQ(distances, expected);
  }
}

TEST(Discards, ReachEveryEstimatorThatRemovesBlocks) {
  const Stream stream = random_stream(5'000, 60, 20, 7);
  const std::vector<Count> expected = naive_distances(stream, 60);
  const std::vector<std::uint8_t> reads(stream.keys.size(), 0);
  References view = stream.view();
  view.ops = reads;
  for (const auto& [name, params] : std::vector<std::pair<std::string, ParamMap>>{
           {"exact", {}},
           {"urd", {}},
           {"parda", {}},
           {"shards-rate", {{"rate", 1.0}}},
           {"shards-rate", {{"rate", 1.0}, {"correction", std::string("adj")}}}}) {
    SCOPED_TRACE(name);
    const auto estimator = estimator_registry().make(name, params, {}).value();
    EXPECT_TRUE(estimator->removes_discards());
    ASSERT_TRUE(estimator->process(view).ok());
    const CurveEstimate curve = estimator->curve().value();
    for (Count capacity = 1; capacity <= 60; ++capacity) {
      const auto hits = std::ranges::count_if(
          expected, [&](Count distance) { return distance != kCold && distance < capacity; });
      EXPECT_EQ(curve.hits_at(static_cast<double>(capacity)), static_cast<double>(hits));
    }
    EXPECT_EQ(estimator->distinct(), static_cast<double>(naive::unique(stream.keys)));
  }
}

// Chunks in parallel up to the first discard, and one thread from there on.
TEST(Discards, EndTheChunksOfParda) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Stream first = random_stream(600, 30, 0, seed);
    const Stream second = random_stream(600, 30, 20, seed + 100);
    Stream stream{.keys = first.keys, .discard_at = {}, .discard_keys = second.discard_keys};
    stream.keys.insert(stream.keys.end(), second.keys.begin(), second.keys.end());
    for (const std::uint64_t at : second.discard_at) {
      stream.discard_at.push_back(at + first.keys.size());
    }
    const std::vector<Count> expected = naive_distances(stream, 30);
    for (const Count limit : {0, 1, 7, 40}) {
      const auto estimator =
          estimator_registry()
              .make("parda", {{"chunks", Count{3}}, {"limit", limit}}, {.threads = 2})
              .value();
      ASSERT_TRUE(estimator->process({.keys = first.keys}).ok());
      ASSERT_TRUE(estimator->process(second.view()).ok());
      const CurveEstimate curve = estimator->curve().value();
      EXPECT_EQ(curve.accesses, static_cast<double>(stream.keys.size()));
      for (Count capacity = 1; capacity <= (limit == 0 ? 30 : std::min<Count>(limit, 30));
           ++capacity) {
        const auto hits = std::ranges::count_if(
            expected, [&](Count distance) { return distance != kCold && distance < capacity; });
        EXPECT_EQ(curve.hits_at(static_cast<double>(capacity)), static_cast<double>(hits));
      }
    }
  }
}

// The most referenced blocks are discarded most often, so that those that the sample lacks miss.
TEST(Discards, LeaveTheBandOfSampledDistancesRight) {
  Random random(4);
  Stream stream;
  constexpr std::uint64_t kBlocks = 4'000;
  const auto skewed = [&] {
    const std::uint64_t range = 1 + random.below(1 + random.below(1 + random.below(kBlocks)));
    return random.below(range);
  };
  for (std::size_t i = 0; i < 60'000; ++i) {
    if (random.below(4) == 0) {
      stream.discard_at.push_back(i);
      stream.discard_keys.push_back(skewed());
    }
    stream.keys.push_back(skewed());
  }
  const std::vector<Count> exact = distances_of(stream.view()).value();
  int covered = 0;
  double error = 0;
  constexpr int kSeeds = 60;
  constexpr Count kCapacity = 800;
  const auto hits = static_cast<double>(std::ranges::count_if(
      exact, [&](Count distance) { return distance != kCold && distance < kCapacity; }));
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto estimator =
        estimator_registry().make("shards-rate", {{"rate", 0.05}}, {.seed = seed}).value();
    ASSERT_TRUE(estimator->process(stream.view()).ok());
    const CurveEstimate curve = estimator->curve().value();
    EXPECT_EQ(curve.accesses, static_cast<double>(stream.keys.size()));
    covered += value_at(curve.capacity, curve.low, kCapacity) <= hits &&
               hits <= value_at(curve.capacity, curve.high, kCapacity);
    error += (curve.hits_at(kCapacity) - hits) / curve.accesses / kSeeds;
  }
  EXPECT_GE(covered, kSeeds * 9 / 10);
  EXPECT_NEAR(error, 0, 0.01);
}

TEST(Discards, NeedOneThread) {
  const Stream stream = random_stream(100, 10, 20, 7);
  const auto estimator = estimator_registry().make("exact", {}, {.threads = 2}).value();
  EXPECT_EQ(estimator->process(stream.view()).code(), absl::StatusCode::kInvalidArgument);
}

// Requests of one to five blocks: a request hits if all its blocks do, a byte if its block does.
TEST(Requests, HitByTheirBlocks) {
  Random random(9);
  constexpr std::uint32_t kBlock = 512;
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint32_t> head;
  std::vector<std::uint32_t> bytes;
  Stream stream = random_stream(3'000, 50, 0, 3);
  for (std::size_t left = stream.keys.size(); left > 0; left -= blocks.back()) {
    blocks.push_back(static_cast<std::uint32_t>(1 + random.below(std::min<std::size_t>(5, left))));
    head.push_back(static_cast<std::uint32_t>(random.below(kBlock)));
    const std::uint32_t tail = static_cast<std::uint32_t>(1 + random.below(kBlock));
    bytes.push_back(blocks.back() == 1 ? std::min(tail, kBlock - head.back())
                                       : (blocks.back() - 1) * kBlock - head.back() + tail);
  }
  const auto estimator = estimator_registry().make("exact", {}, {}).value();
  References view = stream.view();
  view.requests = {.block_bytes = kBlock, .blocks = blocks, .head = head, .bytes = bytes};
  ASSERT_TRUE(estimator->process(view).ok());
  const CurveEstimate curve = estimator->curve().value();
  EXPECT_EQ(curve.requests, static_cast<double>(blocks.size()));
  EXPECT_EQ(curve.bytes, std::accumulate(bytes.begin(), bytes.end(), 0.0));
  for (std::size_t capacity = 1; capacity <= 50; ++capacity) {
    const std::vector<bool> hits = lru_hits(stream, capacity);
    double requests_hit = 0;
    double bytes_hit = 0;
    std::size_t next = 0;
    for (std::size_t r = 0; r < blocks.size(); ++r) {
      bool all = true;
      for (std::uint32_t byte = head[r]; byte < head[r] + bytes[r]; ++byte) {
        bytes_hit += hits[next + byte / kBlock] ? 1 : 0;
      }
      for (std::uint32_t i = 0; i < blocks[r]; ++i) all = hits[next++] && all;
      requests_hit += all ? 1 : 0;
    }
    const auto at = static_cast<double>(capacity);
    EXPECT_EQ(value_at(curve.capacity, curve.request_hits, at), requests_hit);
    EXPECT_EQ(value_at(curve.capacity, curve.byte_hits, at), bytes_hit);
  }
}

}  // namespace
}  // namespace mcsim
