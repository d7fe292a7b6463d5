// Trusts: the built-in policies, of which the same are written as hooks and as functions;
// a cache that looks at all of its blocks at every eviction.
#include "policies/eviction/hooked_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <numeric>

#include "policies/eviction/priority_cache.hpp"
#include "policies/eviction/registry.hpp"
#include "tests/support/policy_traces.hpp"

namespace mcsim {
namespace {

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
absl::Status replay_in_pieces(PolicyCache& cache, std::span<const BlockId> blocks) {
  Random random(7);
  for (std::size_t begin = 0, count = 0; begin < blocks.size(); begin += count) {
    count = std::min<std::size_t>(random.below(90), blocks.size() - begin);
    MCSIM_RETURN_IF_ERROR(cache.replay({.blocks = blocks.subspan(begin, count)}));
  }
  return cache.check();
}

// Lists of slots, the next to leave in front. Also: what it is told is what happens.
class ListHooks final : public PolicyHooks {
 public:
  ListHooks(bool recency, std::size_t ahead) : recency_(recency), ahead_(ahead) {}

  const std::string& name() const override { return name_; }
  absl::StatusOr<std::size_t> start(const PolicySetup& setup) override {
    block_of_.assign(static_cast<std::size_t>(setup.capacity), -1);
    return ahead_;
  }
  absl::Status accessed(std::span<const std::int64_t> slots, std::span<const std::int64_t> blocks,
                        std::span<const std::uint8_t> hits) override {
    EXPECT_EQ(slots.size(), blocks.size());
    EXPECT_EQ(slots.size(), hits.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      auto& block = block_of_.at(static_cast<std::size_t>(slots[i]));
      EXPECT_EQ(hits[i] != 0, block == blocks[i]);
      block = blocks[i];
      const auto at = std::ranges::find(order_, slots[i]);
      EXPECT_EQ(hits[i] != 0, at != order_.end());
      if (recency_ && hits[i] != 0) order_.erase(at);
      if (recency_ || hits[i] == 0) order_.push_back(slots[i]);
    }
    return absl::OkStatus();
  }
  absl::Status choose(std::size_t count, std::vector<std::int64_t>& victims) override {
    for (std::size_t i = 0; i < count && !order_.empty(); ++i) {
      victims.push_back(order_.front());
      order_.pop_front();
    }
    return absl::OkStatus();
  }

 private:
  std::string name_ = "List";
  bool recency_;
  std::size_t ahead_;
  std::vector<std::int64_t> block_of_;
  std::list<std::int64_t> order_;
};

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
  EXPECT_EQ(message({}, 1), "Wrong.victims: gave 0 victims; expected 1");
  EXPECT_EQ(message({0, 1}, 1), "Wrong.victims: gave 2 victims; expected 1");
  EXPECT_EQ(message({}, 2), "Wrong.victims: gave 0 victims; expected 1 to 2");
  EXPECT_EQ(message({3}, 1), "Wrong.victims: gave slot 3 as a victim; the cache has slots 0 to 2");
  EXPECT_EQ(message({-1}, 1),
            "Wrong.victims: gave slot -1 as a victim; the cache has slots 0 to 2");
  EXPECT_EQ(message({1, 2, 1}, 3), "Wrong.victims: gave slot 1 as a victim twice");
}

TEST(HookedCache, ItsCapacityCannotChange) {
  HookedCache cache(std::make_unique<ListHooks>(true, 1), {.capacity = 3, .blocks = 4});
  cache.resize(2);
  EXPECT_EQ(cache.replay({}).message(), "List: the capacity cannot change while it runs");
}

using Formula = std::function<double(std::int64_t accesses, std::int64_t last,
                                     std::int64_t inserted, std::int64_t now)>;

class FormulaFunction final : public PriorityFunction {
 public:
  FormulaFunction(Formula formula, Terms terms, int* calls = nullptr)
      : formula_(std::move(formula)), terms_(terms), calls_(calls) {}
  const std::string& name() const override { return name_; }
  absl::StatusOr<Terms> start(const PolicySetup&) override { return terms_; }
  absl::Status evaluate(const Blocks& blocks, std::span<double> priorities) override {
    if (calls_ != nullptr) ++*calls_;
    for (std::size_t i = 0; i < priorities.size(); ++i) {
      priorities[i] =
          formula_(blocks.accesses[i], blocks.last[i], blocks.inserted[i], blocks.now[i]);
    }
    return absl::OkStatus();
  }

 private:
  std::string name_ = "Formula.priority";
  Formula formula_;
  Terms terms_;
  int* calls_;
};

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
      "Formula.priority: fell from 9 to 8 with access 2 to a block: a policy of which this "
      "is so must not say that it is rising");
  EXPECT_EQ(
      message([](auto accesses, auto, auto, auto) { return accesses == 2 ? std::nan("") : 0.0; }),
      "Formula.priority: is not a number of accesses=2, last=2, inserted=0, now=3");
  PriorityCache cache(std::make_unique<FormulaFunction>(recency, PriorityFunction::Terms{}),
                      {.capacity = 2, .blocks = 4});
  cache.resize(1);
  EXPECT_EQ(cache.replay({}).message(),
            "Formula.priority: the capacity cannot change while it runs");
}

}  // namespace
}  // namespace mcsim
