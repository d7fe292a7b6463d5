// Trusts: a constant rate, whose times are those of a trace with them; twins made of standard
// lists, on a recorded trace of the authors of LIRS.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/registry/eviction.hpp"
#include "tests/support/naive_twins.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/real_traces.hpp"

namespace mcsim {
namespace {

using testing::PolicyTrace;

constexpr const char* kWithClock[] = {"sampled-lru", "sampled-lfu", "lru2q", "midpoint"};
constexpr Count kCapacity = 600;

// A loop over more blocks than the cache has, and frequent blocks in between.
PolicyTrace loop_and_zipf() {
  streams::Keys keys = streams::zipf(20'000, 2'000, 0.9, 5);
  for (std::size_t i = 0; i < keys.size(); i += 3) keys[i] = 10'000 + i % 1'000;
  return testing::policy_trace("loop and zipf", keys);
}

CacheCounts replayed(const char* policy, std::int64_t rate, const AccessBatch<>& batch,
                     std::size_t unique) {
  const PolicySetup setup{.capacity = kCapacity, .blocks = unique, .trace = batch.blocks};
  const auto cache = eviction_registry().make(policy, {{"rate", rate}}, setup).value();
  const absl::Status done = cache->replay(batch);
  EXPECT_TRUE(done.ok()) << done.message();
  return cache->counts();
}

TEST(PolicyClocks, TakeTheTimesOfATrace) {
  const PolicyTrace trace = loop_and_zipf();
  for (const char* policy : kWithClock) {
    SCOPED_TRACE(policy);
    std::vector<CacheCounts> all;
    for (const std::int64_t rate : {5, 3'000}) {
      std::vector<Nanoseconds> times;
      for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        times.push_back(static_cast<Nanoseconds>(i + 1) * 1'000'000'000 / rate);
      }
      const AccessBatch<> batch{.blocks = trace.blocks, .times = times};
      all.push_back(replayed(policy, 0, batch, trace.unique));
      EXPECT_EQ(all.back(), replayed(policy, rate, {.blocks = trace.blocks}, trace.unique));
    }
    EXPECT_NE(all[0], all[1]) << "the rate has no effect";
  }
}

TEST(PolicyClocks, NeedTimesOnlyIfTheyAreThoseOfTheTrace) {
  const std::vector<BlockId> blocks{0, 1, 0};
  for (const char* policy : kWithClock) {
    const PolicySetup setup{.capacity = 1, .blocks = 2};
    const auto cache = eviction_registry().make(policy, {{"rate", std::int64_t{0}}}, setup).value();
    EXPECT_TRUE(cache->needs_times());
    EXPECT_EQ(cache->replay({.blocks = blocks}).message(),
              std::string(policy) + " needs the time of every access");
    EXPECT_FALSE(eviction_registry().make(policy, {}, setup).value()->needs_times());
  }
}

TEST(PeerPolicies, AreTheirTwinsOnARecordedTrace) {
  const RealTrace file = real_trace("lirs/sprite.txt.zst");
  if (!file.missing.empty()) GTEST_SKIP() << file.missing;
  const PolicyTrace trace = testing::policy_trace("sprite", line_keys(file.text));
  for (const char* policy :
       {"sampled-lru", "sampled-lfu", "lru2q", "midpoint", "s4-fifo", "qd-lp-fifo", "lhd"}) {
    for (const Count capacity : {Count{1}, Count{2}, Count{57}, kCapacity}) {
      SCOPED_TRACE(::testing::Message() << policy << ", " << capacity << " blocks");
      const PolicySetup setup{.capacity = capacity, .blocks = trace.unique, .trace = trace.blocks};
      const auto cache = eviction_registry().make(policy, {}, setup).value();
      ASSERT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
      const auto twin = naive::twin(policy, {}, capacity, trace.unique);
      Count hits = 0;
      for (const BlockId block : trace.blocks) hits += twin->access(block, 0) ? 1 : 0;
      EXPECT_EQ(cache->counts().hits, hits);
    }
  }
}

}  // namespace
}  // namespace mcsim
