// Trusts: Mattson's stack as a list on the whole stream; for long streams, one DenseDistances.
#include "core/locality/distances/piece_distances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using Blocks = std::vector<BlockId>;

// As an interned trace has them: by the order of their first access.
Blocks numbered(const naive::Keys& keys) {
  naive::Keys known;
  Blocks blocks;
  for (const auto key : keys) {
    const auto found = std::ranges::find(known, key);
    blocks.push_back(static_cast<BlockId>(found - known.begin()));
    if (found == known.end()) known.push_back(key);
  }
  return blocks;
}

std::size_t count_of(const Blocks& blocks) {
  return blocks.empty() ? 0 : std::size_t{std::ranges::max(blocks)} + 1;
}

// Cut at random, empty pieces included.
DistanceHistogram sum_of_pieces(const Blocks& blocks, Count limit, Random& random) {
  std::vector<std::size_t> cuts{0, blocks.size()};
  for (std::uint64_t n = random.below(6); n-- > 0;) cuts.push_back(random.below(blocks.size() + 1));
  std::ranges::sort(cuts);
  DistanceHistogram sum;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    sum.merge(distances_of_piece(blocks, cuts[i - 1], cuts[i], count_of(blocks), limit).value());
  }
  return sum;
}

TEST(PieceDistances, SumUpToThoseOfTheWhole) {
  Random random(3);
  for (const auto& [name, keys] : naive::awkward_streams()) {
    for (const Count limit : {0, 1, 2, 64, 300, 5000}) {
      SCOPED_TRACE(testing::Message() << name << ", limit " << limit);
      EXPECT_EQ(sum_of_pieces(numbered(keys), limit, random), naive::histogram(keys, limit));
    }
  }
}

TEST(PieceDistances, ChanceFindsNoCounterexample) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    naive::Keys keys(random.below(300));
    const std::uint64_t blocks = 1 + random.below(100);
    for (auto& key : keys) key = random.below(1 + random.below(blocks));
    const auto limit = static_cast<Count>(random.below(2) * random.below(60));
    ASSERT_EQ(sum_of_pieces(numbered(keys), limit, random), naive::histogram(keys, limit))
        << "seed " << seed;
  }
}

// More accesses than are looked at in one go, and than the shortest time axis has slots.
TEST(PieceDistances, OfALongTrace) {
  Random random(5);
  Blocks blocks(3'000'000);
  for (BlockId& block : blocks)
    block = static_cast<BlockId>(random.below(1 + random.below(400'000)));
  DenseDistances whole(400'000);
  whole.process(numbers_of(std::span<const BlockId>(blocks)));
  for (const Count limit : {Count{0}, Count{2'000}}) {
    DistanceHistogram expected = whole.histogram();
    if (limit > 0) expected.truncate(limit);
    DistanceHistogram sum = distances_of_piece(blocks, 0, 1'700'000, 400'000, limit).value();
    sum.merge(distances_of_piece(blocks, 1'700'000, blocks.size(), 400'000, limit).value());
    EXPECT_EQ(sum, expected);
  }
}

}  // namespace
}  // namespace mcsim
