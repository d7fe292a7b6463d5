// Trusts: replays, one a size.
#include "policies/replay/all_sizes.hpp"

#include <gtest/gtest.h>

#include "policies/replay/simulate.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/request_columns.hpp"

namespace mcsim {
namespace {

std::vector<std::uint8_t> some_writes(std::size_t length) {
  std::vector<std::uint8_t> ops;
  for (std::size_t i = 0; i < length; ++i) ops.push_back(mix64(i) % 3 == 0 ? 1 : 0);
  return ops;
}

TEST(AllSizes, OnePassCountsWhatReplaysCount) {
  for (const auto& trace : testing::policy_traces(5000)) {
    const auto ops = some_writes(trace.blocks.size());
    const auto unique = static_cast<Count>(trace.unique);
    Random random(trace.unique);
    const testing::Columns requests = testing::random_requests(trace.blocks.size(), random);
    std::vector<CacheConfig> configs;
    for (const char* policy : {"lru", "mru"}) {
      for (const Count size : {Count{7}, Count{1}, Count{2}, unique / 3, unique / 3, unique - 1,
                               unique, unique + 1, 5 * unique}) {
        if (size > 0) configs.push_back({policy, {}, size});
      }
    }
    for (const std::span<const std::uint8_t> given : {std::span(ops), std::span(ops).first(0)}) {
      SimulateOptions options{.requests = requests.view()};
      const auto pass = simulate(trace.blocks, given, trace.unique, configs, options).value();
      options.one_pass = false;
      const auto alone = simulate(trace.blocks, given, trace.unique, configs, options).value();
      for (std::size_t i = 0; i < configs.size(); ++i) {
        EXPECT_EQ(pass[i].requests, alone[i].requests) << trace.name << ", " << configs[i].capacity;
        EXPECT_EQ(pass[i].counts, alone[i].counts)
            << trace.name << ", " << configs[i].policy << ", " << configs[i].capacity;
      }
    }
  }
}

TEST(AllSizes, APassIsOneTaskOnOneMemory) {
  const auto trace = testing::policy_trace("zipf", streams::zipf(200'000, 50'000, 0.8, 1));
  std::vector<CacheConfig> configs{{"lru", {}, 100}, {"fifo", {}, 100}, {"lru", {}, 1000}};
  const auto apart = simulate(trace.blocks, {}, trace.unique, configs).value();
  EXPECT_LT(apart[0].bytes, apart[2].bytes);  // too few sizes for a pass
  configs.push_back({"lru", {}, 10'000});
  const auto joined = simulate(trace.blocks, {}, trace.unique, configs).value();
  const auto needed = memory_needed(trace.blocks, trace.unique, configs).value();
  for (const std::size_t i : {0, 2, 3}) {
    EXPECT_EQ(joined[i].bytes, joined[0].bytes);
    EXPECT_EQ(joined[i].seconds, joined[0].seconds);
    EXPECT_EQ(needed[i], needed[0]);
    EXPECT_LE(joined[i].bytes, needed[i]);
    EXPECT_GE(2 * joined[i].bytes, needed[i]);
  }
  // Where it does not fit, there are replays.
  const auto tight =
      simulate(trace.blocks, {}, trace.unique, configs, {.memory = needed[0] - 1}).value();
  EXPECT_LT(tight[0].bytes, tight[2].bytes);
  for (std::size_t i = 0; i < configs.size(); ++i) EXPECT_EQ(tight[i].counts, joined[i].counts);
}

TEST(AllSizes, StackAlgorithmsAreNamed) {
  EXPECT_TRUE(one_pass_pays_from("lru"));
  EXPECT_TRUE(one_pass_pays_from("mru"));
  for (const char* policy : {"fifo", "opt", "perfect-lfu", "arc"}) {
    EXPECT_FALSE(one_pass_pays_from(policy)) << policy;
  }
}

}  // namespace
}  // namespace mcsim
