// Trusts: the built-in policies, of which the same are written as hooks and as functions;
// a cache that looks at all of its blocks at every eviction.
#include "core/engine/caches/hooked_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <numeric>

#include "core/engine/caches/priority_cache.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/list_hooks.hpp"
#include "tests/support/policy_traces.hpp"

namespace mcsim {
namespace {

using testing::Formula;
using testing::FormulaFunction;
using testing::ListHooks;
using testing::PolicyTrace;

constexpr Count kCapacities[] = {1, 2, 3, 10, 40, 1000};

const std::vector<PolicyTrace>& traces() {
  static const std::vector<PolicyTrace> made = testing::policy_traces(3000);
  return made;
}

CacheCounts built_in(const char* policy, const PolicyTrace& trace, Count capacity) {
  const auto cache =
      eviction_registry().make(policy, {}, {.capacity = capacity, .blocks = trace.unique}).value();
  EXPECT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
  return cache->counts();
}

// In pieces of any length, which must change nothing.
absl::Status replay_in_pieces(TierCache& cache, std::span<const BlockId> blocks) {
  Random random(7);
  for (std::size_t begin = 0, count = 0; begin < blocks.size(); begin += count) {
    count = std::min<std::size_t>(random.below(90), blocks.size() - begin);
    MCSIM_RETURN_IF_ERROR(cache.replay({.blocks = blocks.subspan(begin, count)}));
  }
  return cache.check();
}

TEST(HookedCache, OneVictimAtATimeIsExact) {
  for (const PolicyTrace& trace : traces()) {
    for (const Count capacity : kCapacities) {
      for (const bool recency : {false, true}) {
        const PolicySetup setup{.capacity = capacity, .blocks = trace.unique};
        HookedCache cache(std::make_unique<ListHooks>(recency, 1), setup);
        ASSERT_TRUE(replay_in_pieces(cache, trace.blocks).ok());
        EXPECT_EQ(cache.counts(), built_in(recency ? "lru" : "fifo", trace, capacity))
            << trace.name << ", " << capacity << " blocks";
      }
    }
  }
}

// LRU that names its victims some at a time: what was named leaves, whatever happens.
Count hits_of_lru_ahead(std::span<const BlockId> trace, std::size_t capacity, std::size_t ahead) {
  std::list<BlockId> order;  // the next to leave in front
  std::list<BlockId> named;
  Count hits = 0;
  for (const BlockId block : trace) {
    if (std::ranges::find(named, block) != named.end()) {
      ++hits;
      continue;
    }
    if (const auto at = std::ranges::find(order, block); at != order.end()) {
      ++hits;
      order.erase(at);
    } else if (order.size() + named.size() == capacity) {
      if (named.empty()) {
        const auto end =
            std::next(order.begin(), static_cast<std::ptrdiff_t>(std::min(ahead, order.size())));
        named.splice(named.end(), order, order.begin(), end);
      }
      named.pop_front();
    }
    order.push_back(block);
  }
  return hits;
}

TEST(HookedCache, WhatIsGivenUpLeaves) {
  for (const PolicyTrace& trace : traces()) {
    for (const Count capacity : kCapacities) {
      for (const std::size_t ahead : {2, 7, 5000}) {
        const PolicySetup setup{.capacity = capacity, .blocks = trace.unique};
        HookedCache cache(std::make_unique<ListHooks>(true, ahead), setup);
        ASSERT_TRUE(replay_in_pieces(cache, trace.blocks).ok());
        EXPECT_EQ(cache.counts().hits,
                  hits_of_lru_ahead(trace.blocks, static_cast<std::size_t>(capacity), ahead))
            << trace.name << ", " << capacity << " blocks, " << ahead << " ahead";
      }
    }
  }
}

TEST(HookedCache, LongRunsOfHitsAreToldInBetween) {
  std::vector<BlockId> blocks(200'000);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<BlockId>(i * i % 7);
  blocks.push_back(7);
  const std::vector<std::uint8_t> ops(blocks.size(), 1);
  HookedCache cache(std::make_unique<ListHooks>(true, 1), {.capacity = 4, .blocks = 8});
  ASSERT_TRUE(cache.replay({.blocks = blocks, .ops = ops}).ok());
  EXPECT_EQ(cache.counts().evictions, 1);
  EXPECT_EQ(cache.counts().write_hits, static_cast<Count>(blocks.size()) - 5);
  EXPECT_LT(cache.bytes(), 4'000'000U);
}

TEST(HookedCache, ColumnsOfOtherLengthsAreRefused) {
  const std::vector<BlockId> blocks{1, 2, 1};
  const std::vector<std::uint8_t> ops{0, 1};
  HookedCache cache(std::make_unique<ListHooks>(true, 1), {.capacity = 4, .blocks = 8});
  EXPECT_EQ(message_of(cache.replay({.blocks = blocks, .ops = ops})), "2 operations of 3 accesses");
  EXPECT_EQ(cache.counts().accesses, 0);
}

class WrongHooks final : public PolicyHooks {
 public:
  WrongHooks(std::vector<std::int64_t> victims, std::size_t ahead)
      : victims_(std::move(victims)), ahead_(ahead) {}
  const std::string& name() const override { return name_; }
  absl::StatusOr<std::size_t> start(const PolicySetup&) override { return ahead_; }
  absl::Status accessed(std::span<const std::int64_t>, std::span<const std::int64_t>,
                        std::span<const std::uint8_t>) override {
    return absl::OkStatus();
  }
  absl::Status choose(std::size_t, std::vector<std::int64_t>& victims) override {
    victims = victims_;
    return absl::OkStatus();
  }
  absl::Status removed(std::span<const std::int64_t>) override {
    return invalid_argument("Wrong.removed");
  }
  absl::Status resized(Count) override { return invalid_argument("Wrong.resized"); }

 private:
  std::string name_ = "Wrong.victims";
  std::vector<std::int64_t> victims_;
  std::size_t ahead_;
};

TEST(HookedCache, WrongVictimsAreNamed) {
  const auto message = [](std::vector<std::int64_t> victims, std::size_t ahead) {
    HookedCache cache(std::make_unique<WrongHooks>(std::move(victims), ahead),
                      {.capacity = 3, .blocks = 4});
    const std::vector<BlockId> blocks{0, 1, 2, 3};
    const absl::Status status = cache.replay({.blocks = blocks});
    EXPECT_EQ(cache.replay({.blocks = blocks}), status) << "it must not go on";
    return message_of(status);
  };
  EXPECT_EQ(message({}, 1), "Wrong.victims: returned 0 victims; expected 1");
  EXPECT_EQ(message({0, 1}, 1), "Wrong.victims: returned 2 victims; expected 1");
  EXPECT_EQ(message({}, 2), "Wrong.victims: returned 0 victims; expected 1 to 2");
  EXPECT_EQ(message({3}, 1),
            "Wrong.victims: returned slot 3 as a victim; the cache has slots 0 to 2");
  EXPECT_EQ(message({-1}, 1),
            "Wrong.victims: returned slot -1 as a victim; the cache has slots 0 to 2");
  EXPECT_EQ(message({1, 2, 1}, 3), "Wrong.victims: returned slot 1 as a victim twice");
}

TEST(HookedCache, EmptySlotsAreNoVictims) {
  HookedCache cache(std::make_unique<WrongHooks>(std::vector<std::int64_t>{2}, 1),
                    {.capacity = 3, .blocks = 4});
  std::vector<BlockId> victims;
  for (const BlockId block : {BlockId(0), BlockId(1)}) cache.insert({.block = block}, victims);
  cache.resize(1, victims);
  EXPECT_EQ(message_of(cache.failure()), "Wrong.resized");
  EXPECT_EQ(victims.size(), 1U) << "somebody has to go";
  EXPECT_TRUE(cache.check().ok());

  HookedCache empty(std::make_unique<ListHooks>(true, 1), {.capacity = 3, .blocks = 4});
  empty.resize(2);
  empty.resize(4);
  EXPECT_EQ(message_of(empty.replay({})), "List: the cache cannot grow above 3 blocks, got 4");
}

TEST(HookedCache, HooksThatFailAreAskedNoMore) {
  HookedCache cache(std::make_unique<WrongHooks>(std::vector<std::int64_t>{0}, 1),
                    {.capacity = 2, .blocks = 9});
  std::vector<BlockId> victims;
  cache.insert({.block = 1}, victims);
  EXPECT_TRUE(cache.take(1));
  EXPECT_FALSE(cache.take(1));
  EXPECT_TRUE(cache.failure().ok()) << "it is told when something else happens";
  for (BlockId block = 2; block < 6; ++block) {
    cache.insert({.block = block}, victims);
    ASSERT_TRUE(cache.check().ok());
    ASSERT_TRUE(cache.contains(block));
  }
  EXPECT_EQ(message_of(cache.failure()), "Wrong.removed");
  EXPECT_EQ(victims.size(), 2U);
}

double recency(std::int64_t, std::int64_t last, std::int64_t, std::int64_t) {
  return static_cast<double>(last);
}
double arrival(std::int64_t, std::int64_t, std::int64_t inserted, std::int64_t) {
  return static_cast<double>(inserted);
}
double frequency(std::int64_t accesses, std::int64_t, std::int64_t, std::int64_t) {
  return static_cast<double>(accesses);
}
double latest(std::int64_t, std::int64_t last, std::int64_t, std::int64_t) {
  return -static_cast<double>(last);
}
double hyperbolic(std::int64_t accesses, std::int64_t, std::int64_t inserted, std::int64_t now) {
  return static_cast<double>(accesses) / static_cast<double>(now + 1 - inserted);
}

TEST(PriorityCache, FunctionsAreTheBuiltInPolicies) {
  const struct {
    Formula formula;
    bool rising;
    const char* policy;
  } cases[] = {{recency, true, "lru"},   {recency, false, "lru"},   {arrival, true, "fifo"},
               {frequency, true, "lfu"}, {frequency, false, "lfu"}, {latest, false, "mru"}};
  for (const PolicyTrace& trace : traces()) {
    for (const Count capacity : kCapacities) {
      for (const auto& [formula, rising, policy] : cases) {
        const PolicySetup setup{.capacity = capacity, .blocks = trace.unique};
        PriorityCache cache(
            std::make_unique<FormulaFunction>(formula, PriorityFunction::Terms{.rising = rising}),
            setup);
        ASSERT_TRUE(replay_in_pieces(cache, trace.blocks).ok());
        EXPECT_EQ(cache.counts(), built_in(policy, trace, capacity))
            << policy << ", " << trace.name << ", " << capacity << " blocks";
      }
    }
  }
}

// Looks at all blocks at every eviction.
class NaivePriorities {
 public:
  NaivePriorities(Formula formula, PriorityFunction::Terms terms, std::size_t capacity)
      : formula_(std::move(formula)), terms_(terms), capacity_(capacity) {}

  bool access(BlockId block) {
    ++now_;
    if (const auto found = held_.find(block); found != held_.end()) {
      ++found->second.accesses;
      found->second.last = now_;
      found->second.stale = true;
      return true;
    }
    if (held_.size() == capacity_) evict();
    Known known{.accesses = 1, .last = now_, .inserted = now_};
    evaluate(known);
    held_[block] = known;
    return false;
  }

 private:
  struct Known {
    std::int64_t accesses;
    std::int64_t last;
    std::int64_t inserted;
    bool stale = false;
    std::pair<double, std::int64_t> key = {};
  };

  void evaluate(Known& known) {
    known.key = {formula_(known.accesses, known.last, known.inserted, now_), known.last};
    known.stale = false;
  }
  auto least() {
    return std::ranges::min_element(held_, {}, [](const auto& held) { return held.second.key; });
  }
  void evict() {
    const bool all = terms_.refresh > 0 && evictions_++ % terms_.refresh == 0;
    if (all || !terms_.rising || least()->second.stale) {
      for (auto& [block, known] : held_) {
        if (all || known.stale) evaluate(known);
      }
    }
    held_.erase(least());
  }

  Formula formula_;
  PriorityFunction::Terms terms_;
  std::size_t capacity_;
  std::map<BlockId, Known> held_;
  std::int64_t now_ = -1;
  std::int64_t evictions_ = 0;
};

TEST(PriorityCache, RefreshesAreThoseOfTheTwin) {
  for (const PolicyTrace& trace : traces()) {
    for (const Count capacity : {1, 3, 40}) {
      for (const PriorityFunction::Terms terms :
           {PriorityFunction::Terms{.refresh = 1}, PriorityFunction::Terms{.refresh = 10},
            PriorityFunction::Terms{.rising = false, .refresh = 25}}) {
        const PolicySetup setup{.capacity = capacity, .blocks = trace.unique};
        PriorityCache cache(std::make_unique<FormulaFunction>(hyperbolic, terms), setup);
        ASSERT_TRUE(replay_in_pieces(cache, trace.blocks).ok());
        NaivePriorities twin(hyperbolic, terms, static_cast<std::size_t>(capacity));
        const Count hits =
            std::ranges::count_if(trace.blocks, [&](BlockId block) { return twin.access(block); });
        EXPECT_EQ(cache.counts().hits, hits)
            << trace.name << ", " << capacity << " blocks, refresh " << terms.refresh;
      }
    }
  }
}

TEST(PriorityCache, IsAskedSeldom) {
  const PolicyTrace trace = testing::policy_trace("zipf", streams::zipf(100'000, 20'000, 0.9, 1));
  for (const Formula formula : {recency, arrival, frequency}) {
    int calls = 0;
    PriorityCache cache(
        std::make_unique<FormulaFunction>(formula, PriorityFunction::Terms{}, &calls),
        {.capacity = 2000, .blocks = trace.unique});
    ASSERT_TRUE(cache.replay({.blocks = trace.blocks}).ok());
    EXPECT_GT(cache.counts().evictions, 20'000);
    EXPECT_LT(calls, 2'000);
  }
}

TEST(PriorityCache, ContradictionsAreTold) {
  const std::vector<BlockId> blocks{0, 1, 0, 2, 3};
  const auto message = [&](Formula formula) {
    PriorityCache cache(
        std::make_unique<FormulaFunction>(std::move(formula), PriorityFunction::Terms{}),
        {.capacity = 2, .blocks = 4});
    return message_of(cache.replay({.blocks = blocks}));
  };
  EXPECT_EQ(
      message([](auto accesses, auto, auto, auto) { return 10.0 - static_cast<double>(accesses); }),
      "Formula.priority: fell from 9 to 8 with access 2 to a block; a policy with falling "
      "priorities must set rising to false");
  EXPECT_EQ(
      message([](auto accesses, auto, auto, auto) { return accesses == 2 ? std::nan("") : 0.0; }),
      "Formula.priority: is not a number for accesses=2, last=2, inserted=0, now=3");
  PriorityCache cache(std::make_unique<FormulaFunction>(recency, PriorityFunction::Terms{}),
                      {.capacity = 2, .blocks = 4});
  cache.resize(1);
  EXPECT_TRUE(cache.replay({.blocks = blocks}).ok());
  cache.resize(3);
  EXPECT_EQ(message_of(cache.replay({})),
            "Formula.priority: the cache cannot grow above 2 blocks, got 3");
}

// Random operations of a host on a cache, and on one under the imitated policy.
void expect_equal_in_a_host(TierCache& cache, const char* policy, std::uint64_t seed) {
  constexpr std::uint32_t kBlocks = 60;
  const auto twin =
      eviction_registry().make(policy, {}, {.capacity = 30, .blocks = kBlocks}).value();
  Random random(seed);
  for (int step = 0; step < 6'000; ++step) {
    const Access<> a{.block =
                         static_cast<BlockId>(random.below(random.below(2) == 0 ? 12 : kBlocks))};
    std::vector<BlockId> ours;
    std::vector<BlockId> theirs;
    if (random.below(200) == 0) {
      const auto capacity = static_cast<Count>(random.below(31));
      cache.resize(capacity, ours);
      twin->resize(capacity, theirs);
    } else if (random.below(5) == 0) {
      ASSERT_EQ(cache.take(a.block), twin->take(a.block)) << step;
    } else {
      const bool hit = twin->touch(a);
      ASSERT_EQ(cache.touch(a), hit) << step;
      if (!hit && twin->capacity() > 0) {
        cache.insert(a, ours);
        twin->insert(a, theirs);
      }
    }
    ASSERT_EQ(ours, theirs) << step;
    ASSERT_EQ(cache.size(), twin->size()) << step;
    ASSERT_TRUE(cache.failure().ok()) << cache.failure();
    ASSERT_TRUE(cache.check().ok()) << cache.check();
  }
}

TEST(HookedCache, IsThePolicyThatItsHooksAreInAHostToo) {
  const PolicySetup setup{.capacity = 30, .blocks = 60};
  for (const bool recency : {false, true}) {
    HookedCache cache(std::make_unique<ListHooks>(recency, 1), setup);
    expect_equal_in_a_host(cache, recency ? "lru" : "fifo", recency ? 1 : 2);
  }
}

TEST(PriorityCache, IsThePolicyThatItsFunctionIsInAHostToo) {
  const PolicySetup setup{.capacity = 30, .blocks = 60};
  for (const auto& [formula, policy] :
       {std::pair<Formula, const char*>{recency, "lru"}, {arrival, "fifo"}, {frequency, "lfu"}}) {
    for (const Count refresh : {0, 1, 7}) {
      PriorityCache cache(
          std::make_unique<FormulaFunction>(formula, PriorityFunction::Terms{.refresh = refresh}),
          setup);
      expect_equal_in_a_host(cache, policy, 3);
    }
  }
}

}  // namespace
}  // namespace mcsim
