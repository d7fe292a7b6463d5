// Trusts: a search through all decisions of a cache, for short streams of few blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {
namespace {

using Resident = std::uint32_t;  // a bit for each block

// The most hits of any cache that inserts only accessed blocks.
class BestDecisions {
 public:
  BestDecisions(std::vector<BlockId> blocks, int capacity, bool may_refuse)
      : blocks_(std::move(blocks)), capacity_(capacity), may_refuse_(may_refuse) {}

  Count hits(std::size_t i = 0, Resident resident = 0) {
    if (i == blocks_.size()) return 0;
    const auto known = found_.find({i, resident});
    if (known != found_.end()) return known->second;
    const Resident block = Resident{1} << blocks_[i];
    const bool hit = (resident & block) != 0;
    Count best = hit || may_refuse_ ? hits(i + 1, resident) : 0;
    if (!hit && std::popcount(resident) < capacity_) {
      best = std::max(best, hits(i + 1, resident | block));
    } else if (!hit) {
      for (Resident left = resident; left != 0; left &= left - 1) {
        const Resident victim = left & (~left + 1);
        best = std::max(best, hits(i + 1, (resident & ~victim) | block));
      }
    }
    return found_[{i, resident}] = best + (hit ? 1 : 0);
  }

 private:
  std::vector<BlockId> blocks_;
  int capacity_;
  bool may_refuse_;
  std::map<std::pair<std::size_t, Resident>, Count> found_;
};

Count replayed(const std::vector<BlockId>& blocks, std::size_t unique, Count capacity,
               bool refuse) {
  std::vector<NextUse> next_uses(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto next =
        std::find(blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1, blocks.end(), blocks[i]);
    next_uses[i] = next == blocks.end() ? kNever : static_cast<NextUse>(next - blocks.begin());
  }
  const PolicySetup setup{.capacity = capacity, .blocks = unique, .trace = blocks};
  const auto cache = eviction_registry().make("opt", {{"refuse", refuse}}, setup).value();
  EXPECT_EQ(cache->selective(), refuse);
  EXPECT_TRUE(cache->replay({.blocks = blocks, .next_uses = next_uses}).ok());
  return cache->counts().hits;
}

TEST(Opt, IsTheBestOfAllDecisions) {
  Random random(4);
  int differ = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t unique = 2 + random.below(6);
    std::vector<BlockId> blocks(5 + random.below(25));
    for (BlockId& block : blocks) block = static_cast<BlockId>(random.below(unique));
    for (int capacity = 1; capacity <= 4; ++capacity) {
      const Count inserting = replayed(blocks, unique, capacity, false);
      const Count refusing = replayed(blocks, unique, capacity, true);
      ASSERT_EQ(inserting, BestDecisions(blocks, capacity, false).hits()) << round;
      ASSERT_EQ(refusing, BestDecisions(blocks, capacity, true).hits()) << round;
      differ += inserting < refusing ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 100);
}

}  // namespace
}  // namespace mcsim
