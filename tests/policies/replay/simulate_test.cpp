// Trusts: one cache replayed by itself, of which many together are to be copies.
#include "policies/replay/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/speed_estimate.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/request_columns.hpp"

namespace mcsim {
namespace {

std::vector<CacheConfig> every_policy() {
  std::vector<CacheConfig> configs;
  for (const auto& entry : eviction_policies()) {
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

std::vector<DiscardedBlock> random_discards(const ::mcsim::testing::PolicyTrace& trace,
                                            Random& random) {
  std::vector<DiscardedBlock> discards;
  for (std::size_t i = 0; i <= trace.blocks.size(); ++i) {
    while (random.below(6) == 0) discards.push_back({i, BlockId(random.below(trace.unique))});
  }
  return discards;
}

// Hits of requests and bytes, byte by byte.
RequestHits hits_by_byte(const ::mcsim::testing::Columns& requests, const std::vector<bool>& hit,
                         std::size_t warm_up) {
  RequestHits sum;
  for (std::size_t r = 0; r + 1 < requests.begin.size(); ++r) {
    const std::uint64_t first = requests.begin[r];
    if (first == requests.begin[r + 1] || first < warm_up) continue;
    bool all = true;
    for (std::uint32_t byte = 0; byte < requests.bytes[r]; ++byte) {
      const bool byte_hit = hit[first + (requests.head[r] + byte) / 100];
      ++sum.bytes;
      sum.byte_hits += byte_hit ? 1 : 0;
      all = all && byte_hit;
    }
    ++sum.requests;
    sum.hits += all ? 1 : 0;
  }
  return sum;
}

// Every policy, wrappers included: one access at a time, blocks removed in between.
TEST(Simulate, DiscardsAndCountsRequestsUnderEveryPolicy) {
  Random random(3);
  const auto trace = ::mcsim::testing::policy_trace("mix", streams::mix(3'000, 60, 1));
  const ::mcsim::testing::Columns requests =
      ::mcsim::testing::random_requests(trace.blocks.size(), random);
  const std::vector<DiscardedBlock> discards = random_discards(trace, random);
  const auto uses = next_uses(trace.blocks, trace.unique, 1, discards).value();
  std::vector<CacheConfig> configs;
  for (const CacheConfig& config : every_policy()) {
    if (config.capacity < 500) configs.push_back(config);
  }
  const SimulateOptions options{.warm_up = 100, .discards = discards, .requests = requests.view()};
  const auto found = simulate(trace.blocks, {}, trace.unique, configs, options).value();
  for (std::size_t c = 0; c < configs.size(); ++c) {
    const PolicySetup setup{
        .capacity = configs[c].capacity, .blocks = trace.unique, .trace = trace.blocks};
    const auto alone = eviction_registry().make(configs[c].policy, {}, setup).value();
    std::vector<bool> hit;
    std::size_t discarded = 0;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
      for (; discards[discarded].access <= i; ++discarded) {
        alone->discard(discards[discarded].block);
        ASSERT_FALSE(alone->contains(discards[discarded].block));
      }
      const Count before = alone->counts().hits;
      ASSERT_TRUE(alone
                      ->replay({.blocks = std::span(trace.blocks).subspan(i, 1),
                                .next_uses = std::span(&uses[i], 1)})
                      .ok());
      hit.push_back(alone->counts().hits > before);
    }
    EXPECT_EQ(found[c].counts.hits, std::count(hit.begin() + 100, hit.end(), true))
        << configs[c].policy;
    EXPECT_EQ(found[c].requests, hits_by_byte(requests, hit, 100)) << configs[c].policy;
  }
}

// Law: what is discarded is not used again, so that nothing hits more often than OPT.
TEST(Simulate, OptIsABoundWithDiscards) {
  Random random(5);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto trace = ::mcsim::testing::policy_trace("mix", streams::mix(2'000, 60, seed));
    const std::vector<DiscardedBlock> discards = random_discards(trace, random);
    std::vector<CacheConfig> configs{{"opt", {}, 8}};
    for (const CacheConfig& config : every_policy()) configs.push_back({config.policy, {}, 8});
    const auto found =
        simulate(trace.blocks, {}, trace.unique, configs, {.discards = discards}).value();
    for (std::size_t c = 0; c < configs.size(); ++c) {
      EXPECT_LE(found[c].counts.hits, found[0].counts.hits) << configs[c].policy;
    }
  }
}

// A block that is discarded before its next use is the one to evict.
TEST(Simulate, OptEvictsWhatIsDiscarded) {
  const std::vector<BlockId> blocks{0, 1, 2, 0, 1};
  const std::vector<DiscardedBlock> discards{{3, 0}};
  const auto found = simulate(blocks, {}, 3, {{CacheConfig{"opt", {}, 2}}}, {.discards = discards});
  EXPECT_EQ(found.value()[0].counts.hits, 1) << "block 1 stays for its second access";
}

TEST(Simulate, RefusesDiscardsAndRequestsThatCannotBe) {
  const std::vector<BlockId> blocks{0, 1, 0};
  const auto refusal = [&](const SimulateOptions& options) {
    const std::vector<CacheConfig> configs{{"lru", {}, 1}};
    return message_of(simulate(blocks, {}, 2, configs, options).status());
  };
  const std::vector<DiscardedBlock> late{{4, 0}};
  const std::vector<DiscardedBlock> unknown{{1, 2}};
  const std::vector<DiscardedBlock> mixed{{2, 0}, {1, 0}};
  EXPECT_EQ(refusal({.discards = late}),
            "discards: block 0 before access 4 of a trace of 2 blocks, 3 accesses");
  EXPECT_EQ(refusal({.discards = unknown}),
            "discards: block 2 before access 1 of a trace of 2 blocks, 3 accesses");
  EXPECT_EQ(refusal({.discards = mixed}), "discards: they must be in the order of accesses");
  const std::vector<std::uint64_t> short_of{0, 2};
  const std::vector<std::uint64_t> begin{0, 1, 3};
  const std::vector<std::uint32_t> one{7};
  EXPECT_EQ(refusal({.requests = {.begin = short_of}}),
            "requests: they must divide 3 accesses, in their order");
  EXPECT_EQ(refusal({.requests = {.begin = begin, .bytes = one, .head = one}}),
            "requests: 1 bytes and 1 offsets of 2 requests");
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
  for (const auto& entry : eviction_policies()) {
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
  for (const auto& entry : eviction_policies()) {
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
