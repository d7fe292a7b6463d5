// Trusts: one cache replayed by itself, of which many together are to be copies.
#include "policies/replay/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/registry/eviction.hpp"
#include "policies/replay/speed_estimate.hpp"
#include "tests/support/policy_traces.hpp"

namespace mcsim {
namespace {

std::vector<CacheConfig> every_policy() {
  std::vector<CacheConfig> configs;
  for (const auto& entry : eviction_registry().entries()) {
    for (const Count capacity : {1, 50, 500}) configs.push_back({entry.info.name, {}, capacity});
  }
  return configs;
}

TEST(Simulate, ManyTogetherAreEachAlone) {
  const auto trace = ::mcsim::testing::policy_trace("mix", streams::mix(30'000, 400, 1));
  std::vector<std::uint8_t> ops;
  for (std::size_t i = 0; i < trace.blocks.size(); ++i) ops.push_back(i % 3 == 0 ? 1 : 0);
  const auto configs = every_policy();
  const SimulateOptions replays{.one_pass = false};
  const auto one = simulate(trace.blocks, ops, trace.unique, configs, replays).value();
  const auto two = simulate(trace.blocks, ops, trace.unique, configs, {.threads = 2}).value();
  ASSERT_EQ(one.size(), configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const PolicySetup setup{
        .capacity = configs[i].capacity, .blocks = trace.unique, .trace = trace.blocks};
    const auto alone = eviction_registry().make(configs[i].policy, {}, setup).value();
    ASSERT_TRUE(
        alone->replay({.blocks = trace.blocks, .ops = ops, .next_uses = trace.next_uses}).ok());
    EXPECT_EQ(one[i].counts, alone->counts()) << configs[i].policy;
    EXPECT_EQ(two[i].counts, alone->counts()) << configs[i].policy;
    EXPECT_EQ(one[i].bytes, alone->bytes());
  }
}

TEST(Simulate, TellsHowFarItIsAndStopsWhenToldTo) {
  const std::vector<BlockId> blocks(3'000'000, 0);
  const std::vector<CacheConfig> configs(2, {"lru", {}, 1});
  std::vector<Count> told;
  const auto remember = [&](Count done) {
    told.push_back(done);
    return told.size() < 4 ? absl::OkStatus() : absl::CancelledError("enough");
  };
  const auto stopped = simulate(blocks, {}, 1, configs, {.tick = remember});
  EXPECT_EQ(stopped.status(), absl::CancelledError("enough"));
  EXPECT_EQ(told, (std::vector<Count>{1 << 20, 2 << 20, 3'000'000, 3'000'000 + (1 << 20)}));
}

TEST(Simulate, SaysBeforehandWhatEveryCacheWillHold) {
  const auto trace = ::mcsim::testing::policy_trace("mix", streams::mix(30'000, 4000, 1));
  std::vector<CacheConfig> configs;
  for (const auto& entry : eviction_registry().entries()) {
    for (const Count capacity : {1, 1000, 20'000}) {
      configs.push_back({entry.info.name, {}, capacity});
    }
  }
  const SimulateOptions replays{.one_pass = false};
  const auto needed = memory_needed(trace.blocks, trace.unique, configs, replays).value();
  const auto held = simulate(trace.blocks, {}, trace.unique, configs, replays).value();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_EQ(needed[i], held[i].bytes) << configs[i].policy << ", " << configs[i].capacity;
  }
}

TEST(Simulate, MemoryIsBounded) {
  const auto trace = ::mcsim::testing::policy_trace("uniform", streams::uniform(9000, 4000, 1));
  const std::vector<CacheConfig> configs{{"arc", {}, 100}, {"lru", {}, 2000}, {"fifo", {}, 50}};
  const auto run = [&](std::size_t memory) {
    return simulate(trace.blocks, {}, trace.unique, configs, {.threads = 2, .memory = memory});
  };
  const auto needed = memory_needed(trace.blocks, trace.unique, configs).value();
  const std::size_t most = *std::ranges::max_element(needed);
  const auto free = run(JobQueue::kNoLimit).value();
  const auto tight = run(most).value();  // one at a time
  for (std::size_t i = 0; i < configs.size(); ++i) EXPECT_EQ(tight[i].counts, free[i].counts);

  const auto refused = run(most - 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  // A block of the capacity takes 8 bytes in the list and 4 in the directory.
  EXPECT_EQ(message_of(refused),
            fmt::format("lru: a cache of 2000 blocks needs {} bytes of the {} that there may be; "
                        "1999 blocks would fit",
                        most, most - 1));
  EXPECT_THAT(message_of(run(1000).status()), ::testing::HasSubstr("not even one block would fit"));
}

TEST(SpeedEstimate, EveryPolicyHasOne) {
  SpeedEstimate speed;
  for (const auto& entry : eviction_registry().entries()) {
    const double seconds = speed.of(entry.info.name, {});
    EXPECT_GT(seconds, 0) << entry.info.name;
    EXPECT_EQ(speed.of(entry.info.name, {}), seconds);  // measured once
  }
  EXPECT_EQ(speed.of("nothing", {}), 0);
}

TEST(Simulate, AMistakeIsToldBeforeTheReplay) {
  const std::vector<BlockId> blocks{0, 1};
  const auto message = [&](const CacheConfig& config, std::size_t unique = 2) {
    return message_of(simulate(blocks, {}, unique, {{config}}).status());
  };
  EXPECT_EQ(message({"sive", {}, 1}), "unknown eviction policy 'sive' (did you mean 'sieve'?)");
  EXPECT_EQ(message({"lru", {}, 0}), "lru: a cache of 0 blocks: expected 1 to 1099511627776");
  EXPECT_EQ(message({"arc", {}, Count{1} << 62}),
            "arc: a cache of 4611686018427387904 blocks: expected 1 to 1099511627776");
  EXPECT_EQ(message({"slru", {{"protected_share", 2.0}}, 1}),
            "slru: protected_share: 2 is outside [0, 1]");
  EXPECT_EQ(message({"lru", {}, 1}, 1), "block 1 of a trace of 1");
}

TEST(Simulate, NothingIsNothing) {
  EXPECT_EQ(simulate({}, {}, 0, {{{"opt", {}, 5}}}).value()[0].counts, CacheCounts{});
  EXPECT_TRUE(simulate({}, {}, 0, {}).value().empty());
}

}  // namespace
}  // namespace mcsim
