// Trusts: lists of blocks by recency.
#include "core/containers/recency_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <ranges>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

constexpr std::uint64_t kBlocks = 40;

TEST(RecencyLog, HoldsTheBlocksOfListsInOrder) {
  using Log = RecencyLog<1>;
  const std::vector<std::uint64_t> most{kBlocks, kBlocks};
  std::vector<Log::Stack> stacks = Log::stacks(most);
  Log log(2 * kBlocks, stacks);
  std::vector<std::list<BlockId>> naive(2);
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t s = random.below(2);
    const auto block = BlockId(s * kBlocks + random.below(kBlocks));
    const bool held = std::ranges::find(naive[s], block) != naive[s].end();
    ASSERT_EQ(log.contains(block), held);
    switch (random.below(4)) {
      case 0:
        ASSERT_EQ(log.remove(stacks[s], block), held ? 0U : 1U);
        naive[s].remove(block);
        break;
      case 1:
        if (naive[s].empty()) break;
        ASSERT_EQ(log.demote(stacks[s], 0), naive[s].back());
        naive[s].pop_back();
        break;
      default:
        ASSERT_EQ(log.access(stacks[s], block), held ? 0U : 1U);
        naive[s].remove(block);
        naive[s].push_front(block);
    }
    std::vector<BlockId> found;
    log.for_each(stacks[s], [&](std::size_t, BlockId id) { found.push_back(id); });
    ASSERT_TRUE(std::ranges::equal(found, naive[s] | std::views::reverse));
    ASSERT_TRUE(log.consistent(stacks[s]));
  }
}

}  // namespace
}  // namespace mcsim
