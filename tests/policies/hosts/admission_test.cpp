// Trusts: std::map and std::set with exact counts; the binomial distribution.
// Filters `nth` and `staged` are compared with naive::Tiers in tests of hosts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "policies/hosts/admission_registry.hpp"

namespace mcsim {
namespace {

using Filter = std::unique_ptr<AdmissionFilter>;

Filter filter(const std::string& name, const ParamMap& params, Count capacity,
              std::uint64_t seed = 1) {
  auto made = admission_registry().make(name, params,
                                        {.capacity = capacity, .blocks = 1'000'000, .seed = seed});
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(*made);
}

bool offer(const Filter& filter, BlockId block, Count request_blocks = 1, bool full = true) {
  const RequestContext request{.blocks = request_blocks};
  return filter->admits({.block = block, .request = &request}, full);
}

TEST(Admission, ProbabilityAdmitsItsShareWhateverTheBlock) {
  constexpr int kOffers = 100'000;
  for (const double p : {0.0, 0.03, 0.5, 1.0}) {
    for (const bool same_block : {false, true}) {
      const Filter made = filter("probability", {{"p", p}}, 100);
      int admitted = 0;
      for (int i = 0; i < kOffers; ++i) {
        admitted += offer(made, static_cast<BlockId>(same_block ? 0 : i)) ? 1 : 0;
      }
      EXPECT_NEAR(admitted, p * kOffers, 5 * std::sqrt(kOffers * p * (1 - p))) << p;
    }
  }
}

TEST(Admission, ProbabilityIsDrawnFromTheSeed) {
  const auto drawn = [](std::uint64_t seed) {
    const Filter made = filter("probability", {}, 100, seed);
    std::vector<bool> admitted;
    for (BlockId block = 0; block < 200; ++block) admitted.push_back(offer(made, block));
    return admitted;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

// The number of distinct blocks since the last offer of a block decides: fewer than the window must
// be remembered. After three windows only a false positive of about 1 % admits a block.
TEST(Admission, BloomRemembersAWindowAndForgetsLater) {
  constexpr Count kWindow = 100;
  for (const bool stated : {false, true}) {
    const Filter made =
        filter("bloom", stated ? ParamMap{{"window", kWindow}} : ParamMap{}, stated ? 7 : kWindow);
    Random random(3);
    std::vector<BlockId> offered;
    int recent = 0, old = 0, falsely = 0;
    for (int i = 0; i < 3'000; ++i) {
      // Half of the offers repeat one of the last 200.
      const bool repeats = !offered.empty() && random.uniform() < 0.5;
      const std::uint64_t back = 1 + random.below(std::min<std::uint64_t>(200, 1 + offered.size()));
      const BlockId block = repeats ? offered[offered.size() - std::min(back, offered.size())]
                                    : static_cast<BlockId>(random.below(2'000));
      std::set<BlockId> since;
      bool was_offered = false;
      for (auto at = offered.rbegin(); at != offered.rend() && !was_offered; ++at) {
        was_offered = *at == block;
        if (!was_offered) since.insert(*at);
      }
      const bool admitted = offer(made, block);
      const auto distinct = static_cast<Count>(since.size());
      if (was_offered && distinct < kWindow) {
        ++recent;
        ASSERT_TRUE(admitted) << "offer " << i << ", " << distinct << " blocks in between";
      } else if (!was_offered || distinct >= 3 * kWindow) {
        ++old;
        falsely += admitted ? 1 : 0;
      }
      offered.push_back(block);
    }
    EXPECT_GT(recent, 300);
    EXPECT_GT(old, 300);
    EXPECT_LT(falsely, old / 40);
  }
}

TEST(Admission, SizeAdmitsRequestsUpToItsLimit) {
  const Filter by_default = filter("size", {}, 100);
  const Filter made = filter("size", {{"most", Count{3}}}, 100);
  for (Count blocks = 1; blocks < 40; ++blocks) {
    EXPECT_EQ(offer(made, 5, blocks), blocks <= 3);
    EXPECT_EQ(offer(by_default, 5, blocks), blocks <= 16);
  }
}

// The sketch is large enough that no two of the blocks share all of their counters.
TEST(Admission, TinyLfuComparesCountsWithTheLastVictim) {
  constexpr Count kCapacity = 400;
  const Filter made = filter("tinylfu", {{"sample", 2.0}}, kCapacity);
  std::map<BlockId, int> counts;
  int recorded = 0, admitted = 0, refused = 0, halvings = 0;
  BlockId victim = 0;
  bool has_victim = false;
  Random random(5);
  for (int i = 0; i < 50'000; ++i) {
    const auto block = static_cast<BlockId>(random.below(1 + random.below(40)));
    made->record({.block = block});
    counts[block] = std::min(15, counts[block] + 1);
    if (++recorded == 2 * kCapacity) {
      for (auto& [unused, count] : counts) count /= 2;
      recorded /= 2;
      ++halvings;
    }
    const bool full = random.uniform() < 0.9;
    const bool expected = !full || !has_victim || counts[block] > counts[victim];
    ASSERT_EQ(offer(made, block, 1, full), expected) << "access " << i;
    (expected ? admitted : refused) += 1;
    if (random.uniform() < 0.3) {
      victim = static_cast<BlockId>(random.below(40));
      made->evicted(victim);
      has_victim = true;
    }
  }
  EXPECT_GT(halvings, 50);
  EXPECT_GT(admitted, 5'000);
  EXPECT_GT(refused, 5'000);
}

}  // namespace
}  // namespace mcsim
