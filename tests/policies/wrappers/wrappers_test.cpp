// Trusts: the published formulas worked by hand; loops, whose hits are known; hulls by
// brute force; replays of the wrapped policy; what a cache says it holds before and
// after every access.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/containers/sample_filter.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/wrappers/all.hpp"
#include "policies/wrappers/bent_cache.hpp"
#include "policies/wrappers/shards.hpp"
#include "policies/wrappers/switching.hpp"
#include "tests/support/policy_traces.hpp"

namespace mcsim {
namespace {

using testing::policy_trace;
using testing::PolicyTrace;

std::unique_ptr<TierCache> made(const std::string& policy, const ParamMap& params, Count capacity,
                                std::size_t blocks, std::uint64_t seed = 1) {
  return eviction_registry()
      .make(policy, params, {.capacity = capacity, .blocks = blocks, .seed = seed})
      .value();
}

std::string mistake(const std::string& policy, const ParamMap& params) {
  return message_of(
      eviction_registry().make(policy, params, {.capacity = 10, .blocks = 10}).status());
}

std::vector<BlockId> loop(std::size_t blocks, std::size_t length) {
  std::vector<BlockId> accesses(length);
  for (std::size_t i = 0; i < length; ++i) accesses[i] = static_cast<BlockId>(i % blocks);
  return accesses;
}

TEST(ComponentSpec, IsReadAsItIsNested) {
  const auto specs =
      parse_components("lru+2q(kin=0.1,kout=2)+talus(policy=arc(step=integer),epoch=5)", '+')
          .value();
  ASSERT_EQ(specs.size(), 3);
  EXPECT_EQ(specs[0].name, "lru");
  EXPECT_EQ(specs[1].params, (ParamMap{{"kin", 0.1}, {"kout", std::int64_t{2}}}));
  EXPECT_EQ(specs[2].name, "talus");
  EXPECT_EQ(specs[2].params,
            (ParamMap{{"policy", std::string("arc(step=integer)")}, {"epoch", std::int64_t{5}}}));
  const auto flags = parse_component("s4lru(fill=true)").value();
  EXPECT_EQ(flags.params, (ParamMap{{"fill", true}}));
}

TEST(ComponentSpec, AMistakeIsTold) {
  EXPECT_EQ(mistake("talus", {{"policy", std::string("lruu")}}),
            "talus: unknown eviction policy 'lruu' (did you mean 'lru'?)");
  EXPECT_EQ(mistake("talus", {{"policy", std::string("arc(step=wide)")}}),
            "talus: arc: step: unknown choice 'wide' (one of real, integer)");
  EXPECT_EQ(mistake("slide", {{"policy", std::string("opt")}}),
            "slide: opt needs the future of the trace: it cannot be wrapped");
  EXPECT_EQ(mistake("switching", {{"candidates", std::string("lru+")}}),
            "switching: expected a name, got ''");
  EXPECT_EQ(mistake("switching", {{"candidates", std::string("lru+arc(step")}}),
            "switching: 'lru+arc(step': the parentheses do not match");
  EXPECT_EQ(mistake("switching", {{"candidates", std::string("arc(step)")}}),
            "switching: arc: expected PARAM=VALUE, got 'step'");
  EXPECT_EQ(mistake("slide", {{"policy", std::string("arc(step=real)x")}}),
            "slide: expected NAME(PARAM=VALUE,…), got 'arc(step=real)x'");
  EXPECT_EQ(mistake("talus", {{"policy", std::string("slide(policy=talus)")}}),
            "talus: slide: talus: lru: nested in 2 wrappers; at most 2 are supported");
  EXPECT_EQ(mistake("slide", {{"margin", 0.7}}), "slide: margin: 0.7 is outside [0, 0.5]");
}

TEST(CurveBending, SplitsByTheFormula) {
  const std::vector<CurvePoint> hull{{0, 1}, {2, 0.6}, {5, 0.3}};
  const Split split = split_at(hull, 4, 0).value();
  EXPECT_EQ(split.alpha, 2);
  EXPECT_EQ(split.beta, 5);
  EXPECT_NEAR(split.rho, 1.0 / 3, 1e-12);
  EXPECT_NEAR(split.first_keys, 1.0 / 3, 1e-12);
  EXPECT_NEAR(split.first_blocks, 2.0 / 3, 1e-12);
  EXPECT_NEAR(split.second_blocks, 10.0 / 3, 1e-12);
  EXPECT_NEAR(split.misses, 0.6 / 3 + 0.3 * 2 / 3, 1e-12);
  EXPECT_NEAR(split_at(hull, 4, 0.05)->first_keys, 1 - 0.95 * 2 / 3, 1e-12);
  // A loop over 2000 blocks, which LRU hits if all fit.
  const std::vector<CurvePoint> cliff{{0, 1}, {2000, 0}};
  EXPECT_EQ(split_at(cliff, 1000, 0)->rho, 0.5);
  EXPECT_EQ(split_at(cliff, 1000, 0)->first_blocks, 0);
  EXPECT_EQ(split_at(cliff, 1000, 0)->second_blocks, 1000);
  EXPECT_EQ(misses_of(cliff, *split_at(cliff, 1000, 0.05)), 0.525);
}

TEST(CurveBending, DoesNotSplitAtVerticesOrBeyond) {
  const std::vector<CurvePoint> hull{{0, 1}, {2, 0.6}, {5, 0.3}};
  for (const double blocks : {0.0, 2.0, 5.0, 9.0}) EXPECT_FALSE(split_at(hull, blocks, 0.05));
  EXPECT_FALSE(split_at({}, 3, 0.05));
}

TEST(CurveBending, TheHullIsTheLowestOfAllChords) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<CurvePoint> curve{{0, 1}};
    for (int i = 0; i < 12; ++i) {
      curve.push_back({curve.back().blocks + 1 + static_cast<double>(random.below(5)),
                       curve.back().misses * random.uniform()});
    }
    const auto hull = lower_hull(curve);
    for (double blocks = 0.5; blocks < curve.back().blocks; ++blocks) {
      double lowest = 1;
      for (const CurvePoint& a : curve) {
        for (const CurvePoint& b : curve) {
          if (a.blocks > blocks || b.blocks <= blocks) continue;
          const double along = (blocks - a.blocks) / (b.blocks - a.blocks);
          lowest = std::min(lowest, a.misses + along * (b.misses - a.misses));
        }
      }
      const auto split = split_at(hull, blocks, 0);
      EXPECT_NEAR(split->misses, lowest, 1e-9);
    }
  }
}

TEST(CurveMonitor, OfLruIsTheExactCurveOfEveryEpoch) {
  const PolicyTrace trace = policy_trace("mix", streams::mix(30'000, 300, 1));
  const auto monitor = lru_monitor(trace.unique, 1, 1);
  EXPECT_TRUE(monitor->next_curve().empty());
  const std::vector<Count> sizes{1, 10, 100, 500, 2000};
  std::vector<std::unique_ptr<TierCache>> caches;
  for (const Count size : sizes) caches.push_back(made("lru", {}, size, trace.unique));
  for (std::size_t begin = 0; begin < 30'000; begin += 10'000) {
    const auto epoch = std::span(trace.blocks).subspan(begin, 10'000);
    std::vector<Count> before;
    for (const auto& cache : caches) {
      before.push_back(cache->counts().misses());
      ASSERT_TRUE(cache->replay({.blocks = epoch}).ok());
    }
    ASSERT_TRUE(monitor->process(epoch).ok());
    const auto curve = monitor->next_curve();
    EXPECT_EQ(curve[0], (CurvePoint{0, 1}));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Count misses = caches[i]->counts().misses() - before[i];
      EXPECT_NEAR(misses_at(curve, static_cast<double>(sizes[i])),
                  static_cast<double>(misses) / 10'000, 1e-12);
    }
  }
}

TEST(CurveMonitor, OfMiniaturesIsThatOfCachesOfThoseSizes) {
  const PolicyTrace trace = policy_trace("mix", streams::mix(12'000, 300, 1));
  const PolicySetup setup{
      .capacity = 240, .blocks = trace.unique, .registry = &eviction_registry()};
  const auto monitor = miniature_monitor({"arc", {}}, setup, 1, 1).value();
  ASSERT_TRUE(monitor->process(trace.blocks).ok());
  const auto curve = monitor->next_curve();
  ASSERT_EQ(curve.size(), 1 + 19);
  EXPECT_EQ(curve[1].blocks, 30);
  EXPECT_EQ(curve[10].blocks, 240);
  EXPECT_EQ(curve[19].blocks, 1920);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const auto cache = made("arc", {}, std::llround(curve[i].blocks), trace.unique);
    ASSERT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
    EXPECT_NEAR(curve[i].misses, static_cast<double>(cache->counts().misses()) / 12'000, 1e-12);
  }
}

TEST(OnlineSample, NumbersWhatAFilterPicks) {
  OnlineSample sample(1000, 0.3, 7);
  const SpatialFilter filter(0.3, 7);
  std::vector<BlockId> number(1000, kNoBlock);
  std::uint32_t next = 0;
  for (BlockId block = 0; block < 1000; ++block) {
    if (filter.samples(block)) number[block] = BlockId(next++);
  }
  EXPECT_EQ(sample.unique(), next);
  Random random(1);
  std::vector<BlockId> blocks(5000);
  for (BlockId& block : blocks) block = static_cast<BlockId>(random.below(1000));
  std::vector<BlockId> expected;
  for (const BlockId block : blocks) {
    if (number[block] != kNoBlock) expected.push_back(number[block]);
  }
  const auto picked = sample.pick(blocks);
  EXPECT_EQ(std::vector(picked.begin(), picked.end()), expected);
}

// The share of misses once the first rounds of a loop are over.
double later_misses(TierCache& cache, std::size_t blocks) {
  EXPECT_TRUE(cache.replay({.blocks = loop(blocks, 20 * blocks)}).ok());
  const CacheCounts before = cache.counts();
  EXPECT_TRUE(cache.replay({.blocks = loop(blocks, 20 * blocks)}).ok());
  EXPECT_TRUE(cache.check().ok());
  return static_cast<double>(cache.counts().misses() - before.misses()) /
         static_cast<double>(20 * blocks);
}

TEST(Talus, HitsHalfOfALoopOfWhichHalfFits) {
  const auto lru = made("lru", {}, 1000, 2000);
  EXPECT_EQ(later_misses(*lru, 2000), 1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto talus = made("talus", {{"epoch", std::int64_t{4000}}}, 1000, 2000, seed);
    const double misses = later_misses(*talus, 2000);
    EXPECT_LE(misses, 0.5 * (1 + 0.05) + 0.02) << seed;
    EXPECT_GE(misses, 0.5) << seed;  // which nothing beats by dividing the keys
    const auto& split = dynamic_cast<const BentCache&>(*talus).split();
    ASSERT_TRUE(split);
    EXPECT_EQ(split->beta, 2000);
    EXPECT_EQ(split->rho, 0.5);
  }
}

TEST(Slide, HitsHalfOfALoopOfWhichHalfFits) {
  for (const char* policy : {"lru", "fifo", "clock"}) {
    const auto plain = made(policy, {}, 1000, 2000);
    EXPECT_EQ(later_misses(*plain, 2000), 1);
    const ParamMap params{{"policy", std::string(policy)}, {"epoch", std::int64_t{4000}}};
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto slide = made("slide", params, 1000, 2000, seed);
      EXPECT_LE(later_misses(*slide, 2000), 0.5 * (1 + 0.05) + 0.02) << policy << ", " << seed;
    }
  }
}

TEST(Bending, OfASampleGetsNearly) {
  // Estimates by a tenth of the blocks, of a loop that is not twice the capacity.
  const ParamMap params{{"epoch", std::int64_t{60'000}}, {"sample", std::int64_t{4000}}};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto talus = made("talus", params, 40'000, 60'000, seed);
    // rho is a third.
    EXPECT_LE(later_misses(*talus, 60'000), 1 - 0.95 * 2 / 3 + 0.02) << seed;
  }
}

TEST(Bending, IsThePolicyItselfWhereThereIsNoCliff) {
  const PolicyTrace trace = policy_trace("zipf", streams::zipf(100'000, 5000, 0.8, 1));
  for (const char* wrapper : {"talus", "slide"}) {
    for (const char* policy : {"lru", "arc", "sieve"}) {
      for (const Count capacity : {100, 700, 3000}) {
        const auto plain = made(policy, {}, capacity, trace.unique);
        const auto bent =
            made(wrapper, {{"policy", std::string(policy)}, {"epoch", std::int64_t{20'000}}},
                 capacity, trace.unique);
        ASSERT_TRUE(plain->replay({.blocks = trace.blocks}).ok());
        ASSERT_TRUE(bent->replay({.blocks = trace.blocks}).ok());
        EXPECT_EQ(bent->counts(), plain->counts()) << wrapper << ", " << policy << ", " << capacity;
      }
    }
  }
}

// Loops of several lengths in turn, so that splits come, move and go.
PolicyTrace changing_loops() {
  std::vector<std::uint64_t> keys;
  for (const std::size_t blocks : {150, 230, 90, 400, 150}) {
    for (std::size_t i = 0; i < 6000; ++i) keys.push_back(i % blocks);
  }
  const auto zipf = streams::zipf(6000, 500, 0.9, 1);
  keys.insert(keys.end(), zipf.begin(), zipf.end());
  return policy_trace("loops", keys);
}

TEST(Wrappers, HitWhatTheyHoldAndLoseNothing) {
  const PolicyTrace trace = changing_loops();
  const std::vector<std::pair<const char*, ParamMap>> wrappers{
      {"talus", {{"epoch", std::int64_t{700}}}},
      {"talus", {{"epoch", std::int64_t{700}}, {"policy", std::string("2q(kin=0.5)")}}},
      {"slide", {{"epoch", std::int64_t{700}}}},
      {"slide", {{"epoch", std::int64_t{700}}, {"policy", std::string("lru")}}},
      {"switching", {{"epoch", std::int64_t{700}}, {"candidates", std::string("lru+mru+arc")}}},
      {"switching", {{"epoch", std::int64_t{700}}, {"candidates", std::string("s4lru+mru")}}},
      {"slide", {{"epoch", std::int64_t{700}}, {"policy", std::string("switching(epoch=300)")}}},
      {"shards", {}},
      {"shards", {{"n", std::int64_t{7}}, {"policy", std::string("tinylfu")}}},
  };
  for (const auto& [name, params] : wrappers) {
    Random random(1);
    const auto cache = made(name, params, 120, trace.unique);
    CacheCounts before = cache->counts();
    bool is_whole = true;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
      const BlockId block = trace.blocks[i];
      const bool held = cache->contains(block);
      const Count size_before = cache->size();
      const std::uint8_t op = i % 5 == 0 ? 1 : 0;
      ASSERT_TRUE(cache->replay({.blocks = {&block, 1}, .ops = {&op, 1}}).ok());
      const CacheCounts now = cache->counts();
      ASSERT_EQ(now.accesses, before.accesses + 1);
      ASSERT_EQ(now.hits, before.hits + (held ? 1 : 0)) << name << " at " << i;
      ASSERT_EQ(now.writes, before.writes + op);
      ASSERT_EQ(now.write_hits, before.write_hits + (held && op == 1 ? 1 : 0));
      ASSERT_LE(cache->size(), cache->capacity());
      // A shard of no blocks takes nothing in.
      const Count came = cache->size() - size_before + now.evictions - before.evictions;
      ASSERT_LE(came, held ? 0 : 1) << name << " at " << i;
      ASSERT_GE(came, held || name != std::string("switching") ? 0 : 1) << name << " at " << i;
      if (i % 997 == 0) {
        const absl::Status checked = cache->check();
        ASSERT_TRUE(checked.ok()) << name << " at " << i << ": " << checked;
      }
      before = now;
      if (i % 4001 == 4000) {
        cache->resize(is_whole ? static_cast<Count>(random.below(140)) + 1 : 120);
        is_whole = !is_whole;
        before = cache->counts();
        ASSERT_LE(cache->size(), cache->capacity());
      }
    }
  }
}

TEST(Wrappers, PiecesChangeNothing) {
  const PolicyTrace trace = changing_loops();
  for (const char* name : {"talus", "slide", "switching"}) {
    const ParamMap params{{"epoch", std::int64_t{500}}};
    const auto whole = made(name, params, 120, trace.unique);
    const auto pieces = made(name, params, 120, trace.unique);
    const AccessBatch<> all{.blocks = trace.blocks};
    ASSERT_TRUE(whole->replay(all).ok());
    for (std::size_t begin = 0, step = 1; begin < trace.blocks.size(); begin += step, step += 7) {
      ASSERT_TRUE(pieces->replay(all.part(begin, step)).ok());
    }
    EXPECT_EQ(whole->counts(), pieces->counts()) << name;
    EXPECT_GT(whole->counts().hits, 0);
  }
}

ShardedCache::Params shards_of(Count n, const std::string& policy, Count least = 1) {
  ShardedCache::Params params;
  params.n = n;
  params.policy = policy;
  params.least = least;
  return params;
}

std::unique_ptr<TierCache> sharded(const ShardedCache::Params& params, Count capacity,
                                   std::size_t blocks) {
  return ShardedCache::make(
             params, {.capacity = capacity, .blocks = blocks, .registry = &eviction_registry()})
      .value();
}

TEST(Shards, AreCachesOfTheirOwn) {
  const PolicyTrace trace = changing_loops();
  std::vector<std::uint8_t> ops;
  for (std::size_t i = 0; i < trace.blocks.size(); ++i) ops.push_back(i % 3 == 0 ? 1 : 0);
  for (const char* policy : {"lru", "tinylfu(start=0.5)", "arc"}) {
    // 121 blocks in 5 shards: the first one has 25.
    const auto cache = sharded(shards_of(5, policy), 121, trace.unique);
    const auto& shards = dynamic_cast<const ShardedCache&>(*cache);
    std::vector<std::uint8_t> hits(trace.blocks.size());
    ASSERT_TRUE(cache->replay({.blocks = trace.blocks, .ops = ops, .hits = hits}).ok());
    CacheCounts expected;
    Count held = 0;
    for (std::size_t shard = 0; shard < 5; ++shard) {
      const ComponentSpec spec = parse_component(policy).value();
      const auto alone = made(spec.name, spec.params, shard == 0 ? 25 : 24, trace.unique);
      for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        const BlockId block = trace.blocks[i];
        if (shards.shard_of(block) != shard) continue;
        std::uint8_t hit = 0;
        ASSERT_TRUE(
            alone->replay({.blocks = {&block, 1}, .ops = {&ops[i], 1}, .hits = {&hit, 1}}).ok());
        ASSERT_EQ(hits[i], hit) << policy << ", " << i;
      }
      expected = expected.plus(alone->counts());
      held += alone->size();
      EXPECT_GT(alone->counts().accesses, 0);
    }
    EXPECT_EQ(cache->counts(), expected) << policy;
    EXPECT_EQ(cache->size(), held);
  }
}

TEST(Shards, AreFewerInASmallCache) {
  const auto count = [](Count n, Count least, Count capacity) {
    const auto cache = sharded(shards_of(n, "lru", least), capacity, 1000);
    EXPECT_EQ(cache->capacity(), capacity);
    return dynamic_cast<const ShardedCache&>(*cache).shards();
  };
  // Guava: at least 10 entries a segment.
  EXPECT_EQ(count(4, 10, 19), 1);
  EXPECT_EQ(count(4, 10, 20), 2);
  EXPECT_EQ(count(4, 10, 39), 2);
  EXPECT_EQ(count(4, 10, 40), 4);
  EXPECT_EQ(count(6, 1, 2), 1);
  EXPECT_EQ(count(6, 1, 3), 3);
}

TEST(Shards, WithoutSpaceLeaveTheirBlocksToTheFirst) {
  const auto cache = sharded(shards_of(4, "lru"), 8, 100);
  Random random(3);
  for (int step = 0; step < 4000; ++step) {
    std::vector<BlockId> victims;
    if (step % 100 == 0) cache->resize(static_cast<Count>(random.below(9)), victims);
    const auto block = static_cast<BlockId>(random.below(30));
    const bool held = cache->contains(block);
    ASSERT_EQ(cache->touch({.block = block}), held);
    if (held || cache->capacity() == 0) continue;
    victims.clear();
    const Count before = cache->size();
    cache->insert({.block = block}, victims);
    ASSERT_TRUE(cache->contains(block));
    ASSERT_EQ(cache->size(), before + 1 - static_cast<Count>(victims.size()));
    ASSERT_LE(cache->size(), cache->capacity());
  }
  EXPECT_EQ(mistake("shards", {{"policy", std::string("opt")}}),
            "shards: opt needs the future of the trace: it cannot be wrapped");
}

TEST(Switching, TakesWhatMissesLeastInTheEpoch) {
  const PolicyTrace trace = changing_loops();
  constexpr std::size_t kEpoch = 1000;
  const std::vector<std::string> names{"lru", "mru", "lfu"};
  const ParamMap params{{"epoch", std::int64_t{kEpoch}},
                        {"candidates", std::string("lru+mru+lfu")}};
  const auto cache = made("switching", params, 120, trace.unique);
  const auto& switching = dynamic_cast<const Switching&>(*cache);
  std::vector<std::unique_ptr<TierCache>> alone;
  for (const auto& name : names) alone.push_back(made(name, {}, 120, trace.unique));

  std::size_t expected = 0;
  std::set<std::size_t> seen{0};
  for (std::size_t begin = 0; begin < trace.blocks.size(); begin += kEpoch) {
    const auto epoch = std::span(trace.blocks).subspan(begin, kEpoch);
    std::vector<Count> misses;
    for (const auto& one : alone) {
      const Count before = one->counts().misses();
      ASSERT_TRUE(one->replay({.blocks = epoch}).ok());
      misses.push_back(one->counts().misses() - before);
    }
    // All but the last access, after which the choice is made.
    ASSERT_TRUE(cache->replay({.blocks = epoch.first(kEpoch - 1)}).ok());
    EXPECT_EQ(switching.current(), expected);
    const std::size_t best =
        static_cast<std::size_t>(std::ranges::min_element(misses) - misses.begin());
    if (static_cast<double>(misses[best]) < 0.98 * static_cast<double>(misses[expected])) {
      expected = best;
    }
    std::vector<bool> held(trace.unique);
    for (BlockId block = 0; block < trace.unique; ++block) held[block] = cache->contains(block);
    held[epoch.back()] = true;
    ASSERT_TRUE(cache->replay({.blocks = epoch.last(1)}).ok());
    for (BlockId block = 0; block < trace.unique; ++block) {
      EXPECT_LE(cache->contains(block), held[block]) << "after " << begin;
    }
    EXPECT_EQ(switching.current(), expected);
    EXPECT_EQ(cache->size(), std::min<Count>(cache->counts().misses(), 120));
    seen.insert(expected);
  }
  EXPECT_GT(seen.size(), 1);
}

TEST(Switching, ToThePolicyThatItIsUnderIsThatPolicy) {
  const PolicyTrace trace = policy_trace("mix", streams::mix(20'000, 300, 1));
  const ParamMap params{{"epoch", std::int64_t{1000}}, {"candidates", std::string("arc+arc")}};
  const auto cache = made("switching", params, 200, trace.unique);
  const auto arc = made("arc", {}, 200, trace.unique);
  ASSERT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
  ASSERT_TRUE(arc->replay({.blocks = trace.blocks}).ok());
  EXPECT_EQ(cache->counts(), arc->counts());
}

TEST(Switching, KeepsUpWithTheBetterPolicy) {
  // A loop, on which LRU hits nothing, then what lately came, on which MRU is worst.
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < 40'000; ++i) keys.push_back(i % 300);
  Random random(1);
  for (std::size_t i = 0; i < 40'000; ++i) keys.push_back(1000 + i / 20 + random.below(150));
  const PolicyTrace trace = policy_trace("loop, drift", keys);
  const auto hits = [&](const std::string& policy, const ParamMap& params) {
    const auto cache = made(policy, params, 200, trace.unique);
    EXPECT_TRUE(cache->replay({.blocks = trace.blocks}).ok());
    return cache->counts().hits;
  };
  const Count switching =
      hits("switching", {{"epoch", std::int64_t{2000}}, {"candidates", std::string("lru+mru")}});
  EXPECT_GT(switching, hits("lru", {}) + 20'000);
  EXPECT_GT(switching, hits("mru", {}) + 20'000);
}

}  // namespace
}  // namespace mcsim
