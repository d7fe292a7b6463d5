// Trusts: the worked example C B A D A B C; Mattson's stack as a list; the law
// that LRU(c) hits exactly the distances below c.
#include "core/locality/distances/reuse_distance.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

TEST(ReuseDistance, WorkedExample) {
  const naive::Keys keys{'C', 'B', 'A', 'D', 'A', 'B', 'C'};
  EXPECT_EQ(*distances_of(keys), (std::vector<Count>{kCold, kCold, kCold, kCold, 1, 2, 3}));
}

TEST(ReuseDistance, EqualsMattsonsStack) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(*distances_of(keys), naive::distances(keys));
    EXPECT_EQ(naive::distances(keys).size(), keys.size());
  }
}

TEST(ReuseDistance, NarrowKeysGiveTheSame) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    const naive::Keys low = [&] {
      naive::Keys result = keys;
      for (auto& key : result) key &= 0xffffffff;
      return result;
    }();
    const std::vector<std::uint32_t> narrow(low.begin(), low.end());
    EXPECT_EQ(*distances_of(narrow), *distances_of(low));
    EXPECT_EQ(*histogram_of(narrow), *histogram_of(low));
  }
}

TEST(ReuseDistance, HistogramCountsTheDistances) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    const std::vector<Count> distances = naive::distances(keys);
    const DistanceHistogram histogram = *histogram_of(keys);
    EXPECT_EQ(histogram.accesses(), static_cast<Count>(keys.size()));
    EXPECT_EQ(histogram.cold, naive::unique(keys));
    EXPECT_TRUE(std::is_sorted(histogram.distance.begin(), histogram.distance.end()));
    for (std::size_t i = 0; i < histogram.distance.size(); ++i) {
      EXPECT_EQ(histogram.count[i],
                std::count(distances.begin(), distances.end(), histogram.distance[i]));
      EXPECT_GT(histogram.count[i], 0);
    }
  }
}

TEST(ReuseDistance, LruHitsTheDistancesBelowItsSize) {
  for (const auto& [name, keys] : naive::awkward_streams()) {
    SCOPED_TRACE(name);
    const HitCurve curve(*histogram_of(keys));
    for (const Count capacity : {0, 1, 2, 3, 9, 10, 11, 63, 64, 65, 100, 299, 300, 700}) {
      EXPECT_EQ(curve.hits(capacity), naive::lru_hits(keys, static_cast<std::size_t>(capacity)))
          << "capacity " << capacity;
    }
  }
}

// Blocks that outlive many compactions of the time axis.
TEST(ReuseDistance, SurvivesCompaction) {
  naive::Keys keys;
  for (std::uint64_t key = 0; key < 40; ++key) keys.push_back(key);
  for (std::uint64_t i = 0; i < 3000; ++i) keys.push_back(i % 7);
  for (std::uint64_t key = 40; key-- > 0;) keys.push_back(key);
  EXPECT_EQ(*distances_of(keys), naive::distances(keys));
}

}  // namespace
}  // namespace mcsim
