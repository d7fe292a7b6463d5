// Trusts: exact counts in a map.
#include "core/containers/count_min_sketch.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/containers/bloom_filter.hpp"

namespace mcsim {
namespace {

// 2000 accesses to 1000 keys, half of them to a hundred.
std::map<std::uint64_t, std::uint32_t> some_counts() {
  std::map<std::uint64_t, std::uint32_t> counts;
  Random random(11);
  for (int i = 0; i < 2000; ++i) ++counts[random.below(random.below(2) == 0 ? 100 : 1000)];
  return counts;
}

TEST(CountMinSketch, IsNeverTooLowAndRarelyTooHigh) {
  const auto counts = some_counts();
  CountMinSketch plain(16 * 1024);
  CountMinSketch conservative(16 * 1024);
  for (const auto& [key, count] : counts) {
    for (std::uint32_t i = 0; i < count; ++i) {
      plain.add(key);
      conservative.add_to_least(key);
    }
  }
  int errors = 0;
  for (const auto& [key, count] : counts) {
    const std::uint32_t limited = std::min(count, 15U);
    EXPECT_GE(conservative.estimate(key), limited);
    EXPECT_GE(plain.estimate(key), conservative.estimate(key));
    errors += plain.estimate(key) == limited ? 0 : 1;
  }
  EXPECT_LT(errors, 20);
}

TEST(CountMinSketch, StopsAtFifteenAndSaysSo) {
  for (const bool conservative : {false, true}) {
    CountMinSketch sketch(1);
    for (std::uint32_t i = 1; i <= 20; ++i) {
      EXPECT_EQ(conservative ? sketch.add_to_least(3) : sketch.add(3), i <= 15);
      EXPECT_EQ(sketch.estimate(3), std::min(i, 15U));
    }
  }
}

TEST(CountMinSketch, HalvesAllCounters) {
  CountMinSketch sketch(16 * 1024);
  for (std::uint64_t key = 0; key < 15; ++key) {
    for (std::uint64_t i = 0; i <= key; ++i) sketch.add(key);
  }
  sketch.halve();
  for (std::uint64_t key = 0; key < 15; ++key) EXPECT_EQ(sketch.estimate(key), (key + 1) / 2);
}

TEST(CountMinSketch, ForgetsOnlyToGrow) {
  CountMinSketch sketch(1024);
  sketch.add(5);
  sketch.reserve(512);
  EXPECT_EQ(sketch.estimate(5), 1);
  const std::size_t bytes = sketch.bytes();
  sketch.reserve(4096);
  EXPECT_EQ(sketch.estimate(5), 0);
  EXPECT_EQ(sketch.bytes(), 4 * bytes);
}

TEST(BloomFilter, HasAllItsKeysAndFewOthers) {
  BloomFilter filter(1000);
  int taken_for_members = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    taken_for_members += filter.insert(key) ? 1 : 0;
  }
  for (std::uint64_t key = 0; key < 1000; ++key) EXPECT_TRUE(filter.contains(key));
  for (std::uint64_t key = 1000; key < 11'000; ++key) {
    taken_for_members += filter.contains(key) ? 1 : 0;
  }
  EXPECT_LT(taken_for_members, 300);
  filter.clear();
  for (std::uint64_t key = 0; key < 1000; ++key) EXPECT_FALSE(filter.contains(key));
}

}  // namespace
}  // namespace mcsim
