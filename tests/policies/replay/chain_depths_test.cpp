// Trusts: an LRU stack as a list.
#include "policies/replay/chain_depths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using Depths = std::vector<std::uint32_t>;

struct Requests {
  std::vector<std::int64_t> starts{0};
  std::vector<BlockId> blocks;
  std::size_t unique = 0;

  Chains chains() const { return {.starts = starts, .blocks = blocks, .unique = unique}; }
};

// Requests that extend prefixes of earlier ones, some without blocks.
Requests some_requests(Random& random, std::size_t count, std::size_t most_added) {
  Requests made;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<BlockId> chain;
    if (i > 0 && random.below(4) > 0) {
      const auto old = made.chains().chain(random.below(i));
      const auto kept = static_cast<std::ptrdiff_t>(random.below(old.size() + 1));
      chain.assign(old.begin(), old.begin() + kept);
    }
    for (std::uint64_t n = random.below(most_added + 1); n-- > 0;) {
      chain.push_back(static_cast<BlockId>(made.unique++));
    }
    made.blocks.insert(made.blocks.end(), chain.begin(), chain.end());
    made.starts.push_back(static_cast<std::int64_t>(made.blocks.size()));
  }
  return made;
}

Depths naive_depths(const Chains& chains) {
  std::vector<BlockId> stack;  // the most recent block first
  Depths depths;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    std::vector<BlockId> chain(chains.chain(i).begin(), chains.chain(i).end());
    std::ranges::reverse(chain);
    for (const BlockId block : chain) {
      const auto at = std::ranges::find(stack, block);
      const bool is_new = at == stack.end();
      depths.push_back(static_cast<std::uint32_t>(
          is_new ? static_cast<std::ptrdiff_t>(chains.unique) : at - stack.begin()));
    }
    for (const BlockId block : chain) {
      std::erase(stack, block);
      stack.insert(stack.begin(), block);
    }
  }
  return depths;
}

Depths depths_in(const Chains& chains) {
  Depths depths(chains.blocks.size());
  EXPECT_TRUE(chain_depths(chains, depths).ok());
  return depths;
}

TEST(ChainDepths, EqualAStack) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Requests made = some_requests(random, random.below(60), 1 + random.below(6));
    ASSERT_EQ(depths_in(made.chains()), naive_depths(made.chains())) << seed;
  }
}

TEST(ChainDepths, OfManyBlocks) {
  Random random(1);
  const Requests made = some_requests(random, 3000, 40);
  ASSERT_GT(made.blocks.size(), 50'000);
  const Depths whole = depths_in(made.chains());
  // In the order of touching, depths of a request never grow.
  for (std::size_t i = 0; i < made.chains().size(); ++i) {
    const auto [begin, end] = std::pair{made.starts[i], made.starts[i + 1]};
    EXPECT_TRUE(std::is_sorted(whole.begin() + begin, whole.begin() + end, std::greater()));
  }
}

std::string message_of(std::vector<std::int64_t> starts, std::vector<BlockId> blocks) {
  Depths depths(blocks.size());
  const Chains chains{.starts = starts, .blocks = blocks, .unique = 3};
  return std::string(chain_depths(chains, depths).message());
}

TEST(ChainDepths, OtherThanChainsAreErrors) {
  EXPECT_EQ(message_of({0, 1, 4}, {0, 1, 2, 1}), "request 2: has a block twice");
  const std::string reason = "has a block that follows different blocks";
  EXPECT_EQ(message_of({0, 2, 3}, {0, 1, 1}), "request 2: " + reason);
  EXPECT_EQ(message_of({0, 1, 3}, {0, 1, 0}), "request 2: " + reason);
}

}  // namespace
}  // namespace mcsim
