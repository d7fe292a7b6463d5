// Trusts: twins made of standard lists, access by access; the laws that every
// eviction policy obeys; reuse distances, which give LRU's hits at all capacities.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/locality/hit_curve.hpp"
#include "policies/eviction/all.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/exact_histogram.hpp"
#include "tests/support/naive_twins.hpp"
#include "tests/support/policy_cases.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/states.hpp"

namespace mcsim {
namespace {

using testing::capacities;
using testing::PolicyTrace;
using testing::Subject;
using testing::traces;
using testing::variants;

// Whether blocks may leave, or be refused, while there is space.
bool evicts_early(std::string_view policy, const ParamMap& params) {
  return policy == "generations" || policy == "larc" ||
         (policy == "s4lru" && !params.contains("fill"));
}

// The tests of a policy that reach it through interfaces: compiled once, not for each.
class OnePolicy : public ::testing::Test {
 protected:
  explicit OnePolicy(std::string_view policy) : policy_(policy) {}

  void is_its_twin() const;
  void is_its_twin_whatever_is_done_to_it() const;
  void keeps_accounts() const;
  void misses_only_first_accesses_where_all_fits() const;
  void is_the_same_in_batches() const;
  void allocates_nothing_while_it_runs() const;
  void continues_from_a_state() const;

  template <class Test>
  void for_each(Test&& test) const {
    testing::for_each_case(policy_, test);
  }
  std::string needs_a_twin() const {
    return fmt::format(
        "{} has no twin: write one beside those in tests/support/naive_policies.hpp, from the "
        "publication and not from the header, and make it by name in tests/support/naive_twins.cpp",
        policy_);
  }

  std::string_view policy_;
};

void expect_its_twin(std::string_view policy, const PolicyTrace& trace, const ParamMap& params,
                     Count capacity) {
  const auto twin = naive::twin(policy, params, capacity, trace.unique);
  Subject subject(policy, trace, params, capacity);
  for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
    ASSERT_EQ(subject.access(i), twin->access(trace.blocks[i], trace.next_uses[i])) << i;
    ASSERT_EQ(std::vector<std::uint64_t>(subject.victims.begin(), subject.victims.end()),
              twin->victims)
        << "at access " << i;
  }
}

void OnePolicy::is_its_twin() const {
  for_each([&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
    ASSERT_NE(naive::twin(policy_, params, capacity, trace.unique), nullptr) << needs_a_twin();
    expect_its_twin(policy_, trace, params, capacity);
  });
}

// As doubles, 0.29 of 100 are less than 29.
TEST(Shares, OfACacheAreWhatTheirDecimalsSay) {
  const std::vector<std::pair<std::string_view, std::vector<const char*>>> shares{
      {"slru", {"protected_share"}},
      {"2q", {"kin", "kout"}},
      {"s3-fifo", {"small"}},
      {"lirs", {"hirs"}},
      {"lirs2", {"hirs"}},
      {"lru-k", {"history"}},
      {"mq", {"lifetime", "ghosts"}},
      {"lecar", {"history"}},
      {"w-tinylfu", {"window", "protected_share"}},
      {"clock-pro", {"min_cold"}},
      {"two-pool-lru", {"first"}},
      {"clock-pair", {"hot", "ghosts"}},
      {"lru2q", {"hot", "warm"}},
      {"qd-lp-fifo", {"small", "ghosts"}},
      {"s4-fifo", {"small", "ghosts", "skip"}}};
  for (const auto& [policy, names] : shares) {
    for (const char* name : names) {
      for (const PolicyTrace& trace : traces()) {
        SCOPED_TRACE(::testing::Message() << policy << ", " << name << ", " << trace.name);
        expect_its_twin(policy, trace, {{name, 0.29}}, 100);
      }
    }
  }
}

// Capacities change and blocks are taken out at any moment.
void OnePolicy::is_its_twin_whatever_is_done_to_it() const {
  for_each([&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
    const auto twin = naive::twin(policy_, params, capacity, trace.unique);
    ASSERT_NE(twin, nullptr) << needs_a_twin();
    Subject subject(policy_, trace, params, capacity);
    Random random(static_cast<std::uint64_t>(capacity));
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
      if (random.below(100) == 0) {
        const auto size =
            static_cast<Count>(random.below(2 * static_cast<std::uint64_t>(capacity)));
        subject.resize(size);
        twin->resize(size);
      } else if (const auto block = static_cast<BlockId>(random.below(trace.unique));
                 random.below(10) == 0 && twin->contains(block)) {
        subject.cache().take(block);
        twin->remove(block);
        ASSERT_FALSE(subject.cache().contains(block));
      }
      ASSERT_EQ(std::vector<std::uint64_t>(subject.victims.begin(), subject.victims.end()),
                twin->victims)
          << "before access " << i;
      ASSERT_EQ(subject.access(i), twin->access(trace.blocks[i], trace.next_uses[i])) << i;
      ASSERT_EQ(subject.cache().contains(trace.blocks[i]), twin->contains(trace.blocks[i])) << i;
      ASSERT_EQ(std::vector<std::uint64_t>(subject.victims.begin(), subject.victims.end()),
                twin->victims)
          << "at access " << i;
      twin->victims.clear();
      subject.victims.clear();
      const absl::Status checked = subject.cache().check();
      ASSERT_TRUE(checked.ok()) << checked.message();
    }
  });
}

// A hit is an access to what is held; victims are what is held no longer.
void OnePolicy::keeps_accounts() const {
  for_each([&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
    if (trace.blocks.size() > 1000 && capacity > 100) return;  // that would take long
    Subject subject(policy_, trace, params, capacity);
    Random random(7);
    std::vector<BlockId> before;
    const auto expect_gone = [&](std::vector<BlockId> held) {
      std::ranges::sort(subject.victims);
      std::vector<BlockId> left;
      std::ranges::set_difference(held, subject.resident(), std::back_inserter(left));
      ASSERT_EQ(left, subject.victims);
    };
    for (std::size_t i = 0; i < std::min<std::size_t>(trace.blocks.size(), 1000); ++i) {
      if (random.below(50) == 0) {
        const auto size =
            static_cast<Count>(random.below(2 * static_cast<std::uint64_t>(capacity)));
        subject.resize(size);
        ASSERT_EQ(subject.cache().capacity(), size);
        expect_gone(before);
        before = subject.resident();
      }
      const BlockId block = trace.blocks[i];
      const bool held = std::ranges::binary_search(before, block);
      ASSERT_EQ(subject.access(i), held) << "at access " << i;
      if (subject.inserted) {
        before.insert(std::ranges::lower_bound(before, block), block);
      }
      expect_gone(before);
      before = subject.resident();
      ASSERT_EQ(subject.cache().size(), static_cast<Count>(before.size()));
      const absl::Status checked = subject.cache().check();
      ASSERT_TRUE(checked.ok()) << checked.message();
    }
  });
}

void OnePolicy::misses_only_first_accesses_where_all_fits() const {
  for (const PolicyTrace& trace : traces()) {
    for (const ParamMap& params : variants(policy_)) {
      if (evicts_early(policy_, params)) continue;
      SCOPED_TRACE(trace.name);
      Subject subject(policy_, trace, params, static_cast<Count>(trace.unique));
      Count hits = 0;
      for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
        hits += subject.access(i) ? 1 : 0;
        ASSERT_TRUE(subject.victims.empty()) << "at access " << i;
      }
      EXPECT_EQ(hits, static_cast<Count>(trace.blocks.size() - trace.unique));
    }
  }
}

// Batches, prefetches and earlier runs do not change results.
void OnePolicy::is_the_same_in_batches() const {
  for_each([&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
    const PolicySetup setup{.capacity = capacity, .blocks = trace.unique, .trace = trace.blocks};
    Subject subject(policy_, trace, params, capacity);
    Random random(5);
    std::vector<std::uint8_t> ops;
    CacheCounts expected;
    Count inserted = 0;
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
      ops.push_back(static_cast<std::uint8_t>(random.below(2)));
      const bool hit = subject.access(i);
      inserted += subject.inserted ? 1 : 0;
      ++expected.accesses;
      expected.hits += hit ? 1 : 0;
      expected.writes += ops[i];
      expected.write_hits += hit ? ops[i] : 0;
      expected.evictions += static_cast<Count>(subject.victims.size());
    }
    const auto cache = eviction_registry().make(policy_, params, setup).value();
    const std::span<const BlockId> blocks = trace.blocks;
    const std::span<const std::uint8_t> all_ops = ops;
    const std::span<const NextUse> next_uses = trace.next_uses;
    for (std::size_t begin = 0, count = 0; begin < blocks.size(); begin += count) {
      count = std::min<std::size_t>(random.below(90), blocks.size() - begin);
      ASSERT_TRUE(cache
                      ->replay({.blocks = blocks.subspan(begin, count),
                                .ops = all_ops.subspan(begin, count),
                                .next_uses = next_uses.subspan(begin, count)})
                      .ok());
    }
    EXPECT_EQ(cache->counts(), expected);
    EXPECT_EQ(cache->size(), inserted - expected.evictions);
    EXPECT_TRUE(cache->check().ok()) << cache->check().message();
  });
}

void OnePolicy::allocates_nothing_while_it_runs() const {
  const PolicyTrace trace = testing::policy_trace("mix", streams::mix(20'000, 300, 9));
  const PolicySetup setup{.capacity = 100, .blocks = trace.unique, .trace = trace.blocks};
  const auto cache = eviction_registry().make(policy_, {}, setup).value();
  const std::size_t bytes = cache->bytes();
  const long before = allocations();
  ASSERT_TRUE(cache->replay({.blocks = trace.blocks, .next_uses = trace.next_uses}).ok());
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(cache->bytes(), bytes);
}

// A fresh cache with a saved state serves the rest of a trace as the saved one does, whatever was
// done before, and is then saved as the same bytes.
void OnePolicy::continues_from_a_state() const {
  for_each([&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
    Subject subject(policy_, trace, params, capacity);
    Subject fresh(policy_, trace, params, capacity);
    Random random(static_cast<std::uint64_t>(capacity) + 1);
    const auto change = [&](Count size) {
      subject.resize(size);
      fresh.resize(size);
      ASSERT_EQ(fresh.victims, subject.victims);
    };
    const auto random_size = [&] {
      return static_cast<Count>(random.below(2 * static_cast<std::uint64_t>(capacity)));
    };
    const std::size_t half = random.below(trace.blocks.size() + 1);
    for (std::size_t i = 0; i < half; ++i) {
      if (random.below(100) == 0) subject.resize(random_size());
      if (random.below(10) == 0) {
        subject.cache().take(static_cast<BlockId>(random.below(trace.unique)));
      }
      subject.access(i);
    }
    fresh.resize(subject.cache().capacity());
    testing::expect_loads(subject.cache(), fresh.cache());
    for (std::size_t i = half; i < trace.blocks.size(); ++i) {
      if (random.below(100) == 0) change(random_size());
      if (random.below(10) == 0) {
        const auto block = static_cast<BlockId>(random.below(trace.unique));
        ASSERT_EQ(fresh.cache().take(block), subject.cache().take(block)) << i;
      }
      ASSERT_EQ(fresh.access(i), subject.access(i)) << i;
      ASSERT_EQ(fresh.victims, subject.victims) << i;
    }
    EXPECT_EQ(testing::saved(fresh.cache()), testing::saved(subject.cache()));
  });
}

template <class P>
class EvictionConformance : public OnePolicy {
 protected:
  EvictionConformance() : OnePolicy(P::kInfo.name) {}
};

TYPED_TEST_SUITE(EvictionConformance, testing::AllPolicies, testing::PolicyNames);

TYPED_TEST(EvictionConformance, IsItsTwin) { this->is_its_twin(); }
TYPED_TEST(EvictionConformance, IsItsTwinWhateverIsDoneToIt) {
  this->is_its_twin_whatever_is_done_to_it();
}
TYPED_TEST(EvictionConformance, KeepsAccounts) { this->keeps_accounts(); }
TYPED_TEST(EvictionConformance, MissesOnlyFirstAccessesWhereAllFits) {
  this->misses_only_first_accesses_where_all_fits();
}
TYPED_TEST(EvictionConformance, IsTheSameInBatches) { this->is_the_same_in_batches(); }
TYPED_TEST(EvictionConformance, AllocatesNothingWhileItRuns) {
  this->allocates_nothing_while_it_runs();
}

TYPED_TEST(EvictionConformance, ContinuesFromAState) {
  if constexpr (!kNeedsNextUse<TypeParam>) {
    static_assert(SavablePolicy<TypeParam>);
    this->continues_from_a_state();
  }
}

TEST(EvictionPolicies, NamesAreUniqueAndDescribed) {
  std::vector<std::string> names;
  for (const auto& entry : eviction_policies()) {
    EXPECT_STRNE(entry.info.summary, "");
    EXPECT_STRNE(entry.info.reference, "");
    names.push_back(entry.info.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(EvictionPolicies, AWrongNameIsAnswered) {
  const auto made = eviction_registry().make("lruu", {}, {.capacity = 1, .blocks = 1});
  EXPECT_EQ(made.status().message(), "unknown eviction policy 'lruu' (did you mean 'lru'?)");
}

TEST(EvictionPolicies, LruFollowsFromReuseDistances) {
  for (const PolicyTrace& trace : traces()) {
    SCOPED_TRACE(trace.name);
    const std::vector<std::uint64_t> keys(trace.blocks.begin(), trace.blocks.end());
    const HitCurve curve(exact_histogram(keys));
    for (Count capacity = 1; capacity <= static_cast<Count>(trace.unique); ++capacity) {
      const auto cache =
          eviction_registry().make("lru", {}, {.capacity = capacity, .blocks = trace.unique});
      ASSERT_TRUE((*cache)->replay({.blocks = trace.blocks}).ok());
      ASSERT_EQ((*cache)->counts().hits, curve.hits(capacity)) << capacity << " blocks";
    }
  }
}

TEST(EvictionPolicies, NoneBeatsOpt) {
  for (const PolicyTrace& trace : traces()) {
    for (const Count capacity : capacities(trace)) {
      const auto replayed = [&](const char* policy, const ParamMap& params) {
        const PolicySetup setup{
            .capacity = capacity, .blocks = trace.unique, .trace = trace.blocks};
        auto cache = eviction_registry().make(policy, params, setup).value();
        EXPECT_TRUE(cache->replay({.blocks = trace.blocks, .next_uses = trace.next_uses}).ok());
        return cache;
      };
      const Count inserting = replayed("opt", {})->counts().hits;
      const Count refusing = replayed("opt", {{"refuse", true}})->counts().hits;
      EXPECT_LE(inserting, refusing);
      for (const auto& entry : eviction_policies()) {
        const auto cache = replayed(entry.info.name, {});
        EXPECT_LE(cache->counts().hits, cache->selective() ? refusing : inserting)
            << entry.info.name << ", " << trace.name << ", " << capacity << " blocks";
      }
    }
  }
}

TEST(EvictionPolicies, OptAsksForTheFuture) {
  const std::vector<BlockId> blocks{0, 1, 0};
  const auto cache =
      eviction_registry().make("opt", {}, {.capacity = 1, .blocks = 2, .trace = blocks}).value();
  EXPECT_EQ(cache->replay({.blocks = blocks}).message(), "opt needs the next use of every access");
}

// More space, more misses.
TEST(EvictionPolicies, FifoHasBeladysAnomaly) {
  const std::vector<BlockId> blocks{1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  const auto misses = [&](Count capacity) {
    const auto cache = eviction_registry().make("fifo", {}, {.capacity = capacity, .blocks = 6});
    EXPECT_TRUE((*cache)->replay({.blocks = blocks}).ok());
    return (*cache)->counts().misses();
  };
  EXPECT_EQ(misses(3), 9);
  EXPECT_EQ(misses(4), 10);
}

TEST(EvictionPolicies, OthersHaveItInFewerRequests) {
  const std::vector<std::pair<const char*, std::vector<BlockId>>> examples{
      {"clock", {0, 0, 1, 1, 2, 3, 2}},
      {"sieve", {0, 0, 1, 1, 2, 3, 2}},
      {"arc", {0, 0, 1, 2, 3, 1, 2, 0}},
      {"car", {0, 0, 1, 2, 3, 1, 2, 3, 0}},
      {"lru-k", {0, 0, 1, 2, 3, 1, 2, 3, 0}}};
  for (const auto& [policy, blocks] : examples) {
    const auto hits = [&](Count capacity) {
      const PolicySetup setup{.capacity = capacity, .blocks = 4, .trace = blocks};
      const auto cache = eviction_registry().make(policy, {}, setup).value();
      EXPECT_TRUE(cache->replay({.blocks = blocks}).ok());
      return cache->counts().hits;
    };
    EXPECT_LT(hits(3), hits(2)) << policy;
  }
}

}  // namespace
}  // namespace mcsim
