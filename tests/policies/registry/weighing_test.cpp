#include "policies/registry/weighing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/simulate.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kUnique = 200;

struct Stream {
  std::vector<BlockId> blocks;
  std::vector<std::uint32_t> weights;
};

// Objects of 1 to 1000 bytes, skewed; `changing`: each access states another size.
Stream draw(std::uint64_t seed, bool changing) {
  Random random(seed);
  Stream stream;
  std::vector<std::uint32_t> sizes(kUnique);
  for (auto& size : sizes) size = static_cast<std::uint32_t>(1 + random.below(1000));
  for (int i = 0; i < 5000; ++i) {
    const std::size_t block = random.below(1 + random.below(kUnique));
    if (changing) sizes[block] = static_cast<std::uint32_t>(1 + random.below(1000));
    stream.blocks.push_back(static_cast<BlockId>(block));
    stream.weights.push_back(sizes[block]);
  }
  return stream;
}

std::vector<CacheConfig> configs_of(Count capacity) {
  std::vector<CacheConfig> configs;
  for (const auto& entry : weighing_registry().entries()) {
    configs.push_back({.policy = entry.info.name, .params = {}, .capacity = capacity});
  }
  return configs;
}

TEST(WeighingRegistry, HasNamesAndParametersOfPoliciesForBlocks) {
  ASSERT_GT(weighing_registry().entries().size(), 5);
  for (const auto& entry : weighing_registry().entries()) {
    if (std::string_view(entry.info.name) == "belady-size") continue;  // only for sizes
    const auto found = eviction_registry().find(entry.info.name);
    ASSERT_TRUE(found.ok()) << entry.info.name;
    EXPECT_EQ((*found)->params.size(), entry.params.size()) << entry.info.name;
  }
}

// Also the checks of the structures after each replay, and the same counts on several threads.
TEST(WeighingRegistry, CachesHoldObjectsOfAllSizes) {
  for (const bool changing : {false, true}) {
    const Stream stream = draw(7, changing);
    const std::set<BlockId> distinct(stream.blocks.begin(), stream.blocks.end());
    for (const Count capacity : {1, 500, 3000, 20'000, 300'000}) {
      const auto configs = configs_of(capacity);
      SimulateOptions options{.weights = stream.weights};
      const auto one = simulate(stream.blocks, {}, kUnique, configs, options);
      options.threads = 3;
      const auto three = simulate(stream.blocks, {}, kUnique, configs, options);
      ASSERT_TRUE(one.ok() && three.ok()) << one.status() << three.status();
      for (std::size_t i = 0; i < configs.size(); ++i) {
        const CacheCounts& counts = (*one)[i].counts;
        EXPECT_EQ(counts, (*three)[i].counts) << configs[i].policy;
        EXPECT_EQ(counts.accesses, 5000);
        EXPECT_LE(counts.evictions, counts.misses()) << configs[i].policy;
        if (capacity == 300'000) {  // more than all objects
          EXPECT_EQ(counts.misses(), static_cast<Count>(distinct.size())) << configs[i].policy;
          // Objects without a next access leave at once.
          if (configs[i].policy == "belady-size") continue;
          EXPECT_EQ(counts.evictions, 0) << configs[i].policy;
        }
      }
    }
  }
}

TEST(WeighingRegistry, DiscardsFreeTheBytesOfAnObject) {
  // After the discard of object 0 there is room for object 1 beside 2.
  const std::vector<BlockId> blocks{0, 2, 1, 2};
  const std::vector<std::uint32_t> weights{60, 40, 60, 40};
  const std::vector<DiscardedBlock> discards{{.access = 2, .block = 0}};
  const SimulateOptions options{.discards = discards, .weights = weights};
  const auto configs = configs_of(100);
  const auto found = simulate(blocks, {}, 3, configs, options);
  ASSERT_TRUE(found.ok()) << found.status();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_EQ((*found)[i].counts.hits, 1) << configs[i].policy;
    // Objects without a next access leave at once.
    const Count leave = configs[i].policy == "belady-size" ? 1 : 0;
    EXPECT_EQ((*found)[i].counts.evictions, leave) << configs[i].policy;
  }
}

TEST(WeighingRegistry, RefusesWhatHasNoSizes) {
  const std::vector<BlockId> blocks{0, 1};
  const auto failure = [&](const CacheConfig& config, const SimulateOptions& options) {
    return std::string(simulate(blocks, {}, 2, {&config, 1}, options).status().message());
  };
  const std::vector<std::uint32_t> both{1, 2};
  const std::vector<std::uint32_t> one{1};
  const std::vector<std::uint32_t> zero{1, 0};
  EXPECT_THAT(failure({.policy = "opt", .params = {}}, {.weights = both}),
              testing::HasSubstr("opt: it has no rule for objects of different sizes"));
  EXPECT_THAT(failure({.policy = "lru", .params = {}}, {.weights = one}),
              testing::HasSubstr("weights: 1 of them for 2 accesses"));
  EXPECT_THAT(failure({.policy = "lru", .params = {}}, {.weights = zero}),
              testing::HasSubstr("weights[1]: expected the bytes of an object"));
  EXPECT_THAT(failure({.policy = "lru", .params = {}}, {.line_blocks = 2, .weights = both}),
              testing::HasSubstr("weights: objects have no lines"));
}

}  // namespace
}  // namespace mcsim
