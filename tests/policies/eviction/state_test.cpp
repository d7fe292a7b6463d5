// Trusts: the conformance test, by which a right state is loaded. This one has the wrong ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/registry/eviction.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/states.hpp"

namespace mcsim {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<TierCache> cache_of(const char* policy, const ParamMap& params, Count capacity) {
  return eviction_registry().make(policy, params, {.capacity = capacity, .blocks = 400}).value();
}

std::vector<std::byte> state_of(const char* policy, const ParamMap& params = {}) {
  const auto trace = testing::policy_trace("zipf", streams::zipf(2000, 400, 0.9, 1));
  const auto cache = cache_of(policy, params, 50);
  EXPECT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
  return testing::saved(*cache);
}

std::string error_of(std::span<const std::byte> state, const char* policy,
                     const ParamMap& params = {}, Count capacity = 50) {
  return message_of(testing::load(*cache_of(policy, params, capacity), state));
}

TEST(States, NameThePolicyItsParametersAndTheCapacity) {
  EXPECT_EQ(error_of(state_of("lru"), "fifo"), "the state is one of lru, not of fifo");
  EXPECT_EQ(error_of(state_of("slru"), "slru", {{"protected_share", 0.5}}),
            "the state is one of slru(protected_share=0.8), not of slru(protected_share=0.5)");
  EXPECT_EQ(error_of(state_of("s3-fifo", {{"variant", std::string("libcachesim")}}), "s3-fifo"),
            "the state is one of s3-fifo(promote_at=2, small=0.1, variant=libcachesim), not of "
            "s3-fifo(promote_at=2, small=0.1, variant=paper)");
  EXPECT_EQ(error_of(state_of("lru"), "lru", {}, 51), "the state is one of 50 blocks, not of 51");
}

TEST(States, AreRefusedByPoliciesWithout) {
  const std::vector<BlockId> blocks{0, 1, 0};
  const auto opt =
      eviction_registry().make("opt", {}, {.capacity = 1, .blocks = 2, .trace = blocks}).value();
  ArchiveWriter to;
  EXPECT_EQ(opt->save(to).message(), "opt uses the future, so its state cannot be saved");
  EXPECT_EQ(error_of(state_of("lru"), "talus"),
            "this policy does not declare a state, so none can be loaded");
}

// An early end is an error wherever it is, and so is a count of more than there is.
TEST(States, OfWhichAPartIsMissingAreErrors) {
  for (const auto& entry : eviction_policies()) {
    const std::string policy = entry.info.name;
    ArchiveWriter to;
    if (policy == "opt" || !cache_of(policy.c_str(), {}, 50)->save(to).ok()) continue;
    SCOPED_TRACE(policy);
    const std::vector<std::byte> state = state_of(policy.c_str());
    for (std::size_t size = 0; size < state.size(); size += 1 + size / 20) {
      EXPECT_NE(error_of(std::span(state).first(size), policy.c_str()), "") << size;
    }
  }
}

TEST(States, CountsAreComparedWithWhatFollows) {
  std::vector<std::byte> state = state_of("lru");
  // The number of nodes follows the length and the letters of `lru`, and the capacity.
  state[8 + 3 + 8 + 5] = std::byte{1};
  EXPECT_THAT(error_of(state, "lru"), HasSubstr(" elements in "));
}

// Whatever the bytes of the directory are, they are those of a directory or an error.
TEST(States, DamagedDirectoriesAreErrors) {
  const std::vector<std::byte> state = state_of("fifo");
  const std::size_t directory = 50 * sizeof(BlockId) + 8 + 4 + 4 + 8;
  Random random(1);
  int errors = 0;
  for (std::size_t at = state.size() - directory; at < state.size(); ++at) {
    std::vector<std::byte> damaged = state;
    damaged[at] ^= static_cast<std::byte>(1 + random.below(255));
    errors += error_of(damaged, "fifo").empty() ? 0 : 1;
  }
  // Another block that is not held is as good as the right one.
  EXPECT_GT(errors, static_cast<int>(directory) / 2);
}

}  // namespace
}  // namespace mcsim
