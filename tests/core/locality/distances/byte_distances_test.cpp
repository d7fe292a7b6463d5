#include "core/locality/distances/byte_distances.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/random.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;

TEST(PrefixSums, AreThoseOfAnArray) {
  Random random(1);
  for (const std::size_t size : {1, 2, 31, 32, 33, 1023, 1024, 1025, 40'000}) {
    PrefixSums sums(size);
    std::vector<Count> naive(size);
    for (int i = 0; i < 400; ++i) {
      const std::size_t at = random.below(size);
      if (naive[at] != 0) {
        sums.clear(at);
        naive[at] = 0;
      } else {
        naive[at] = static_cast<Count>(1 + random.below(0xffffffff));
        sums.set(at, static_cast<std::uint32_t>(naive[at]));
      }
      const std::size_t end = random.below(size + 1);
      const auto first = naive.begin();
      ASSERT_EQ(sums.before(end),
                std::accumulate(first, first + static_cast<std::ptrdiff_t>(end), Count{0}))
          << size << ": " << end;
      ASSERT_EQ(sums.total(), std::accumulate(first, naive.end(), Count{0}));
    }
  }
}

TEST(ByteDistances, OfEqualSizesAreMultiplesOfBlocks) {
  Random random(2);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 20'000; ++i) {
    ids.push_back(static_cast<std::uint32_t>(random.below(1 + random.below(300))));
  }
  const std::vector<std::uint32_t> sizes(ids.size(), 7);
  const auto blocks = distances_of(ids);
  const auto bytes = byte_distances(ids, sizes, 300);
  ASSERT_TRUE(blocks.ok() && bytes.ok());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ((*bytes)[i], (*blocks)[i] == kCold ? kCold : 7 * (*blocks)[i]) << i;
  }
}

TEST(ByteCurve, CountsObjectsAndBytes) {
  const std::vector<std::uint32_t> ids{0, 1, 0, 0, 1};
  const std::vector<std::uint32_t> sizes{10, 20, 10, 10, 20};
  const auto curve = byte_curve(ids, sizes, 2);
  ASSERT_TRUE(curve.ok());
  EXPECT_THAT(curve->hits.capacity, ElementsAre(10, 30));
  EXPECT_THAT(curve->hits.hits, ElementsAre(1, 3));
  EXPECT_THAT(curve->hits.byte_hits, ElementsAre(10, 40));
  EXPECT_EQ(curve->hits.accesses, 5);
  EXPECT_EQ(curve->hits.bytes, 70);
  EXPECT_EQ(curve->hits.resolved_from, 20);
  const auto after = byte_curve(ids, sizes, 2, {.rate = 0.5, .warm_up = 3});
  ASSERT_TRUE(after.ok());
  EXPECT_THAT(after->hits.capacity, ElementsAre(10, 40));
  EXPECT_THAT(after->hits.hits, ElementsAre(1, 2));
}

TEST(ByteCurve, RefusesWrongColumns) {
  const std::vector<std::uint32_t> ids{0, 1};
  EXPECT_FALSE(byte_curve(ids, std::vector<std::uint32_t>{1}, 2).ok());
  EXPECT_FALSE(byte_curve(ids, std::vector<std::uint32_t>{1, 0}, 2).ok());
  EXPECT_FALSE(byte_curve(ids, std::vector<std::uint32_t>{1, 1}, 1).ok());
  EXPECT_FALSE(byte_curve(ids, std::vector<std::uint32_t>{1, 1}, 2, {.rate = 0}).ok());
}

}  // namespace
}  // namespace mcsim
