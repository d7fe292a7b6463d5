// Trusts: sums and counts taken by walking the array.
#include "core/containers/fenwick.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/types.hpp"
#include "core/containers/epoch_set.hpp"
#include "core/containers/rank_bitmap.hpp"

namespace mcsim {
namespace {

TEST(FenwickTree, PrefixesAreThoseOfTheArray) {
  Random random(1);
  for (const std::size_t n : {0U, 1U, 2U, 63U, 64U, 65U, 200U}) {
    FenwickTree<Count> tree;
    tree.assign(n, 3);
    std::vector<Count> array(n, 3);
    for (int step = 0; step < 200; ++step) {
      for (std::size_t end = 0; end <= n; ++end) {
        ASSERT_EQ(tree.prefix(end),
                  std::accumulate(array.begin(), array.begin() + static_cast<long>(end), Count{0}));
      }
      if (n == 0) break;
      const std::size_t i = random.below(n);
      const Count delta = static_cast<Count>(random.below(9)) - 4;
      tree.add(i, delta);
      array[i] += delta;
    }
    EXPECT_EQ(tree.size(), n);
  }
}

TEST(FenwickTree, SumsPast32Bits) {
  FenwickTree<Count> tree;
  tree.assign(5, Count{1} << 40);
  EXPECT_EQ(tree.prefix(5), 5 * (Count{1} << 40));
}

TEST(RankBitmap, RanksAreThoseOfTheArray) {
  Random random(2);
  for (const std::size_t n : {1U, 63U, 64U, 65U, 300U}) {
    RankBitmap bitmap;
    bitmap.fill(n);
    ASSERT_GE(bitmap.size(), n);
    std::vector<bool> array(bitmap.size(), true);
    for (std::size_t cleared = 0; cleared < n; ++cleared) {
      Count rank = 0;
      for (std::size_t i = 0; i < array.size(); ++i) ASSERT_EQ(bitmap.rank(i), rank += array[i]);
      const std::size_t i = random.below(array.size());
      if (array[i]) bitmap.clear(i);
      array[i] = false;
    }
  }
}

TEST(RankBitmap, FillsAgain) {
  RankBitmap bitmap;
  bitmap.fill(100);
  bitmap.clear(3);
  bitmap.fill(64);
  EXPECT_EQ(bitmap.size(), 64U);
  EXPECT_EQ(bitmap.rank(63), 64);
}

TEST(EpochSet, HoldsWhatWasInsertedSinceTheLastClear) {
  EpochSet set(3);
  EXPECT_TRUE(set.insert(2));
  EXPECT_FALSE(set.insert(2));
  EXPECT_TRUE(set.insert(0));
  set.clear();
  EXPECT_TRUE(set.insert(2));
  EXPECT_TRUE(set.insert(1));
  EXPECT_FALSE(set.insert(1));
}

}  // namespace
}  // namespace mcsim
