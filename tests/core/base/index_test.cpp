// Trusts: numbers. Code that must not compile is in tests/compile_fail.
#include "core/base/index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {
namespace {

// A typed index in large arrays takes the space of its number.
static_assert(sizeof(BlockId) == sizeof(std::uint32_t) && sizeof(VmId) == sizeof(std::uint16_t));
static_assert(std::is_trivially_copyable_v<BlockId> &&
              std::is_trivially_default_constructible_v<BlockId>);
static_assert(std::is_standard_layout_v<BlockId>);

// One kind is not made of another, by name or without.
static_assert(!std::is_convertible_v<BlockId, VmId> && !std::is_constructible_v<VmId, BlockId>);
static_assert(!std::is_convertible_v<double, BlockId> && !std::is_constructible_v<BlockId, double>);
static_assert(std::is_convertible_v<BlockId, std::size_t>);

// Sums of narrow positions have a wider type, so that they do not wrap to 0.
static_assert(std::is_same_v<decltype(VmId(65'535) + 1), int>);
static_assert(VmId(65'535) + 1 == 65'536);

TEST(Index, IsANumberWhereOneIsRead) {
  const std::vector<int> values{10, 20, 30};
  const BlockId block(std::size_t{2});
  EXPECT_EQ(values[block], 30);
  EXPECT_EQ(block - BlockId(1), 1U);
  EXPECT_EQ(block * 4 + 1, 9U);
  EXPECT_TRUE(block == 2 && block > 1);
}

TEST(Index, GoesOnAndBack) {
  BlockId block = 7;
  ++block;
  block += std::int64_t{5};
  EXPECT_EQ(block, 13U);
  block -= 3;
  EXPECT_EQ(block + std::size_t{2}, BlockId(12));
}

TEST(Index, IsItsNumbersInMemory) {
  std::vector<BlockId> blocks{3, 1, 2};
  EXPECT_THAT(numbers_of(blocks), ::testing::ElementsAre(3, 1, 2));
  numbers_of(blocks)[1] = 8;
  EXPECT_EQ(blocks[1], BlockId(8));
}

TEST(Index, HasAGreatestAndAHash) {
  EXPECT_EQ(std::numeric_limits<VmId>::max(), VmId(65'535));
  const std::unordered_set<BlockId> set{BlockId(1), BlockId(1), BlockId(2)};
  EXPECT_EQ(set.size(), 2U);
}

}  // namespace
}  // namespace mcsim
