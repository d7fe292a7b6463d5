// Trusts: an LRU list and a trie by hand.
#include "policies/replay/chains.hpp"

#include <gtest/gtest.h>

#include "policies/replay/chain_trie.hpp"

namespace mcsim {
namespace {

// Requests 0 1 2, 0 3, 0 1 2, 0 3.
const std::vector<std::int64_t> kStarts{0, 3, 5, 8, 10};
const std::vector<BlockId> kBlocks{0, 1, 2, 0, 3, 0, 1, 2, 0, 3};
const Chains kChains{.starts = kStarts, .blocks = kBlocks, .unique = 4};

using Hits = std::vector<std::uint32_t>;

TEST(Chains, LeavesAndBlocksHitAlikeUnderLru) {
  EXPECT_TRUE(check_chains(kChains).ok());
  for (const Count capacity : {1, 2, 3, 4}) {
    const Hits leaves = replay_trie(kChains, LeafRule::kLru, capacity);
    EXPECT_EQ(leaves, replay_blocks(kChains, {"lru", {}, capacity}, false).value());
  }
  EXPECT_EQ(replay_trie(kChains, LeafRule::kLru, 3), (Hits{0, 1, 2, 1}));
  EXPECT_EQ(replay_trie(kChains, LeafRule::kLru, 4), (Hits{0, 1, 3, 2}));
}

TEST(Chains, PinnedBlocksStay) {
  const std::vector<std::uint32_t> order{0, 1, 2, 3};
  const std::vector<std::uint32_t> none(4);
  const Finishes late{.order = order, .before = none};
  EXPECT_TRUE(check_finishes(late, 4).ok());
  // The first request pins all three blocks.
  EXPECT_EQ(replay_trie(kChains, LeafRule::kLfu, 3, late), (Hits{0, 1, 3, 1}));
  const std::vector<std::uint32_t> early{1, 1, 1, 1};
  EXPECT_FALSE(check_finishes({.order = order, .before = early}, 4).ok());
  EXPECT_FALSE(check_finishes({.order = order, .before = none}, 5).ok());
}

TEST(Chains, PartsAreResized) {
  const std::vector<std::uint32_t> tenant{0, 1, 0, 1};
  const std::vector<std::uint32_t> division{0, 0, 1, 1};
  const std::vector<Count> parts{3, 0, 2, 2};
  const Divisions divisions{.tenant = tenant, .division = division, .parts = parts, .tenants = 2};
  EXPECT_TRUE(check_divisions(divisions, 4).ok());
  EXPECT_EQ(replay_parts(kChains, divisions), (Hits{0, 0, 2, 0}));
  EXPECT_FALSE(check_divisions(divisions, 3).ok());
  const Divisions one{.tenant = tenant, .division = division, .parts = parts, .tenants = 1};
  EXPECT_FALSE(check_divisions(one, 4).ok());
}

TEST(Chains, CopiesStayInTheirTier) {
  const std::vector<Count> tiers{1, 0, 4};
  using Tiers = std::vector<std::uint8_t>;
  EXPECT_EQ(replay_copies(kChains, tiers), (Tiers{3, 3, 3, 0, 3, 0, 2, 2, 0, 2}));
}

TEST(Chains, ConflictsAreBlocksThatFollowDifferentBlocks) {
  EXPECT_EQ(count_conflicts(kChains), 0);
  // Block 2 follows 1, 0 and 1, and block 0 follows 3 and 2.
  const std::vector<std::int64_t> starts{0, 2, 2, 5, 8};
  const std::vector<BlockId> blocks{1, 2, 3, 0, 2, 1, 2, 0};
  EXPECT_EQ(count_conflicts({.starts = starts, .blocks = blocks, .unique = 5}), 2);
}

TEST(Chains, WrongOnesAreRefused) {
  EXPECT_FALSE(check_chains({.starts = {}, .blocks = kBlocks, .unique = 4}).ok());
  EXPECT_FALSE(check_chains({.starts = kStarts, .blocks = kBlocks, .unique = 3}).ok());
  EXPECT_FALSE(replay_blocks(kChains, {"opt", {}, 2}, false).ok());
}

}  // namespace
}  // namespace mcsim
