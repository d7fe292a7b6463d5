// Trusts: a list of blocks by recency, and a word for each block that is not in it.
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

TEST(RecencyLog, KeepsTheMarksOfBlocksThatAreInNoStack) {
  using Log = RecencyLog<1>;
  const std::vector<std::uint64_t> most{kBlocks, kBlocks};
  const auto more = static_cast<Log::Position>(Log::marks_for(100));
  std::vector<Log::Stack> stacks = Log::stacks(most);
  for (Log::Stack& stack : stacks) stack = Log::raised(stack, more);
  Log log(2 * kBlocks, stacks);
  ASSERT_GT(log.marks(), 100U);
  std::vector<std::list<BlockId>> naive(2);
  std::vector<Log::Position> marks(2 * kBlocks, 0);
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t s = random.below(2);
    const auto block = BlockId(s * kBlocks + random.below(kBlocks));
    const bool held = std::ranges::find(naive[s], block) != naive[s].end();
    const auto mark = static_cast<Log::Position>(random.below(101));
    const Log::Position was = log.where(block);
    ASSERT_EQ(was >= log.marks(), held);
    if (!held) {
      ASSERT_EQ(was, marks[block]);
    }
    switch (random.below(4)) {
      case 0:
        ASSERT_EQ(log.remove(stacks[s], block), held ? 0U : 1U);
        if (held) marks[block] = 0;
        naive[s].remove(block);
        break;
      case 1:
        if (naive[s].empty()) break;
        ASSERT_EQ(log.demote(stacks[s], 0), naive[s].back());
        log.mark(naive[s].back(), mark);
        marks[naive[s].back()] = mark;
        naive[s].pop_back();
        break;
      default:
        // Where it was may be elsewhere, if the stack had no room.
        log.make_room(stacks[s]);
        ASSERT_EQ(log.where(block) >= log.marks(), held);
        ASSERT_EQ(log.move_up<true>(stacks[s], block) < log.marks(), !held);
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
