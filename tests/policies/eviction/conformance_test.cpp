// Trusts: twins made of standard lists, access by access; the laws that every
// eviction policy obeys; reuse distances, which give LRU's hits at all capacities.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "core/containers/key_index.hpp"
#include "core/locality/hit_curve.hpp"
#include "policies/eviction/all.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/exact_histogram.hpp"
#include "tests/support/naive_twins.hpp"
#include "tests/support/policy_traces.hpp"
#include "tests/support/states.hpp"

namespace mcsim {
namespace {

using testing::PolicyTrace;

// Parameters under which a policy takes another path through its code.
std::vector<ParamMap> variants(std::string_view policy) {
  std::vector<ParamMap> all{{}};
  if (policy == "slru") all = {{}, {{"protected_share", 0.5}}, {{"protected_share", 1.0}}};
  if (policy == "2q") {
    const std::string golang = "golang-lru";
    all = {{},
           {{"kin", 0.6}, {"kout", 0.1}},
           {{"variant", golang}},
           {{"variant", golang}, {"kin", 0.5}, {"kout", 0.2}}};
  }
  if (policy == "two-pool-lru") all = {{}, {{"first", 0.4}}};
  if (policy == "tinylfu") {
    all = {{}, {{"start", 0.5}, {"counters", 4.0}}, {{"start", 1.0}, {"sample", 2.0}}};
  }
  if (policy == "clock-pair") {
    all = {{},
           {{"hot", 0.5}, {"ghosts", 2.0}, {"most", std::int64_t{1}}},
           {{"hot", 1.0}, {"ghosts", 0.0}, {"most", std::int64_t{7}}}};
  }
  if (policy == "s3-fifo") {
    all = {
        {},
        {{"small", 0.5}, {"promote_at", std::int64_t{1}}},
        {{"small", 1.0}},
        {{"small", 0.3}, {"variant", std::string("libcachesim")}, {"promote_at", std::int64_t{3}}}};
  }
  if (policy == "clock2q-plus") {
    all = {{},
           {{"small", 0.5}, {"window", 0.0}, {"promote_at", std::int64_t{2}}},
           {{"small", 0.3}, {"window", 1.0}}};
  }
  if (policy == "s4-fifo") {
    all = {{},
           {{"small", 0.5}, {"skip", 0.5}, {"promote_at", std::int64_t{1}}, {"ghosts", 2.0}},
           {{"small", 0.3}, {"skip", 1.0}, {"ghost_threshold", std::int64_t{1}}}};
  }
  if (policy == "qd-lp-fifo") {
    all = {
        {}, {{"small", 0.5}, {"ghosts", 0.0}}, {{"ghosts", 2.0}, {"promote_at", std::int64_t{3}}}};
  }
  // Clocks that take a step at each access, at every few, or a few steps at each.
  if (policy == "sampled-lru") {
    all = {{{"resolution", std::int64_t{1}}},
           {{"rate", std::int64_t{7}}, {"samples", std::int64_t{1}}, {"pool", std::int64_t{3}}},
           {{"rate", std::int64_t{3}}, {"samples", std::int64_t{8}}, {"pool", std::int64_t{1}}}};
  }
  if (policy == "sampled-lfu") {
    all = {
        {{"rate", std::int64_t{1}}},
        {{"log_factor", std::int64_t{0}}, {"decay", std::int64_t{0}}},
        {{"rate", std::int64_t{3}}, {"log_factor", std::int64_t{1}}, {"decay", std::int64_t{2}}}};
  }
  if (policy == "lru2q") {
    all = {{{"rate", std::int64_t{1}}},
           {{"refresh", std::int64_t{0}}},
           {{"rate", std::int64_t{7}}, {"refresh", std::int64_t{2}}, {"hot", 0.1}, {"warm", 0.5}}};
  }
  if (policy == "midpoint") {
    const std::pair<std::string, ParamValue> slow{"rate", std::int64_t{30}};
    all = {
        {},
        {{"least", std::int64_t{1}}, {"tolerance", std::int64_t{0}}, slow},
        {{"least", std::int64_t{9}}, {"tolerance", std::int64_t{2}}, {"window", std::int64_t{0}}},
        {{"least", std::int64_t{4}}, {"old_percent", std::int64_t{95}}, slow}};
  }
  if (policy == "gclock") {
    all = {
        {}, {{"first", std::int64_t{0}}, {"most", std::int64_t{1}}}, {{"most", std::int64_t{2}}}};
  }
  if (policy == "opt") all = {{}, {{"refuse", true}}};
  if (policy == "arc") {
    const std::string golang = "golang-lru";
    all = {{},
           {{"step", std::string("integer")}},
           {{"ghosts", golang}},
           {{"step", std::string("integer")}, {"ghosts", golang}}};
  }
  if (policy == "lirs") all = {{}, {{"stack", 1.5}}, {{"stack", 1.0}, {"hirs", 0.3}}};
  if (policy == "lru-k") {
    all = {{},
           {{"correlated", std::int64_t{20}}},
           {{"k", std::int64_t{3}}, {"correlated", std::int64_t{5}}, {"history", 0.3}}};
  }
  if (policy == "mq") {
    all = {{}, {{"queues", std::int64_t{3}}, {"lifetime", 0.7}, {"ghosts", 0.5}}};
  }
  if (policy == "lecar") {
    all = {{},
           {{"learning_rate", 3.0},
            {"discount", 0.5},
            {"history", 1.0},
            {"ties", std::string("number")}}};
  }
  if (policy == "cacheus") all = {{}, {{"variant", std::string("authors")}}};
  if (policy == "hyperbolic") all = {{}, {{"sample", std::int64_t{3}}, {"leeway", 0.1}}};
  // Ages are short, so that blocks reach the last one, and expectations are updated often.
  if (policy == "lhd") {
    all = {{{"ages", std::int64_t{32}}, {"period", std::int64_t{40}}},
           {{"ages", std::int64_t{200}},
            {"period", std::int64_t{25}},
            {"samples", std::int64_t{3}},
            {"admissions", std::int64_t{0}}},
           {{"ages", std::int64_t{5'000}}, {"period", std::int64_t{300}}},
           {{"ages", std::int64_t{16}}}};
  }
  if (policy == "s4lru") all = {{}, {{"segments", std::int64_t{3}}, {"fill", true}}};
  if (policy == "w-tinylfu") {
    all = {{},
           {{"window", 0.2}, {"doorkeeper", true}, {"jitter", true}},
           {{"conservative", true}, {"sample", 2.0}, {"climb", true}, {"counters", 4.0}},
           {{"sample", 2.0}, {"climb", true}, {"step", -0.2}, {"start", 0.5}}};
  }
  if (policy == "clock-pro") {
    all = {{}, {{"min_cold", 0.05}, {"max_cold", 0.05}}, {{"min_cold", 0.4}, {"max_cold", 0.6}}};
  }
  return all;
}

// Whether blocks may leave, or be refused, while there is space.
bool evicts_early(std::string_view policy, const ParamMap& params) {
  return policy == "generations" || policy == "larc" ||
         (policy == "s4lru" && !params.contains("fill"));
}

// Whether victims depend on what blocks are called, and how many there may be.
bool goes_by_name(std::string_view policy, const ParamMap& params) {
  return policy == "w-tinylfu" || policy == "tinylfu" ||
         (policy == "lecar" && params.contains("ties"));
}

// A policy that serves one access at a time on a simulated cache.
class Subject {
 public:
  Subject(std::string_view policy, const PolicyTrace& trace, const ParamMap& params, Count capacity)
      : trace_(trace),
        cache_(eviction_registry()
                   .make(policy, params,
                         {.capacity = capacity, .blocks = trace.unique, .trace = trace.blocks})
                   .value()) {}

  bool access(std::size_t i) {
    victims.clear();
    const Access<> a{.block = trace_.blocks[i], .next_use = trace_.next_uses[i]};
    inserted = false;
    if (cache_->touch(a)) return true;
    if (cache_->capacity() == 0) return false;
    inserted = !cache_->selective() || cache_->admits(a, victims);
    if (inserted) cache_->insert(a, victims);
    return false;
  }
  void resize(Count capacity) {
    victims.clear();
    cache_->resize(capacity, victims);
  }
  std::vector<BlockId> resident() const {
    std::vector<BlockId> blocks;
    for (BlockId block = 0; block < trace_.unique; ++block) {
      if (cache_->contains(block)) blocks.push_back(block);
    }
    return blocks;
  }
  TierCache& cache() { return *cache_; }

  std::vector<BlockId> victims;  // of the last call, in order
  bool inserted = false;         // whether the last access inserted its block

 private:
  const PolicyTrace& trace_;
  std::unique_ptr<TierCache> cache_;
};

const std::vector<PolicyTrace>& traces() {
  static const std::vector<PolicyTrace> made = testing::policy_traces(3000);
  return made;
}

std::vector<Count> capacities(const PolicyTrace& trace) {
  const auto unique = static_cast<Count>(trace.unique);
  std::vector<Count> sizes{1, 2, 3, 10, unique / 10, unique / 2, unique - 1, unique, unique + 5};
  std::erase_if(sizes, [](Count size) { return size < 1; });
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// A cache of raw keys, whatever its policy is.
class KeyedCache {
 public:
  virtual ~KeyedCache() = default;
  virtual bool access(std::uint64_t key) = 0;
  virtual void resize(Count capacity) = 0;
  virtual Count size() const = 0;
  virtual absl::Status check() const = 0;

  void evicted(std::uint64_t key) { victims.push_back(key); }
  std::vector<std::uint64_t> victims;
};

template <class P>
class KeyedCacheOf final : public KeyedCache {
 public:
  KeyedCacheOf(const ParamMap& params, Count capacity)
      : cache_(parse_params<typename P::Params>(params).value(), {.capacity = capacity},
               KeyIndex()) {}

  bool access(std::uint64_t key) override {
    const bool enters = !cache_.refuses() || cache_.contains(key) || cache_.capacity() == 0 ||
                        cache_.admits({.block = key}, *this);
    return enters && cache_.access({.block = key}, *this);
  }
  void resize(Count capacity) override { cache_.resize(capacity, *this); }
  Count size() const override { return cache_.size(); }
  absl::Status check() const override { return cache_.check(); }

 private:
  Cache<P, KeyIndex> cache_;
};

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
  void is_the_same_on_raw_keys(
      const std::function<std::unique_ptr<KeyedCache>(const ParamMap&, Count capacity)>& make)
      const;

  // Calls test(trace, params, capacity) for all that there is.
  template <class Test>
  void for_each(Test&& test) const {
    for (const PolicyTrace& trace : traces()) {
      for (const ParamMap& params : variants(policy_)) {
        for (const Count capacity : capacities(trace)) {
          SCOPED_TRACE(::testing::Message()
                       << trace.name << ", " << capacity << " blocks, variant " << params.size());
          test(trace, params, capacity);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
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

// A cache of raw keys, and what was handed out again in between, is one of dense ids.
void OnePolicy::is_the_same_on_raw_keys(
    const std::function<std::unique_ptr<KeyedCache>(const ParamMap&, Count capacity)>& make) const {
  for_each([&](const PolicyTrace& trace, const ParamMap& params, Count capacity) {
    const bool by_name = goes_by_name(policy_, params);
    const auto most = static_cast<Count>(by_name ? trace.unique : kNoSlot);
    if (capacity > most) return;
    Subject dense(policy_, trace, params, capacity);
    const std::unique_ptr<KeyedCache> keyed = make(params, capacity);
    const auto key_of = [&](BlockId block) {
      return by_name ? std::uint64_t{block} : mix64(block % 7) << 20 | block;
    };
    Random random(3);
    const auto expect_same_victims = [&] {
      std::vector<std::uint64_t> expected;
      for (const BlockId block : dense.victims) expected.push_back(key_of(block));
      ASSERT_EQ(keyed->victims, expected);
      keyed->victims.clear();
    };
    for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
      if (random.below(200) == 0) {
        const auto size =
            static_cast<Count>(random.below(3 * static_cast<std::uint64_t>(capacity)));
        dense.resize(std::min(size, most));
        keyed->resize(std::min(size, most));
        expect_same_victims();
      }
      ASSERT_EQ(keyed->access(key_of(trace.blocks[i])), dense.access(i)) << "at access " << i;
      expect_same_victims();
    }
    EXPECT_EQ(keyed->size(), dense.cache().size());
    EXPECT_TRUE(keyed->check().ok()) << keyed->check().message();
  });
}

template <class P>
class EvictionConformance : public OnePolicy {
 protected:
  EvictionConformance() : OnePolicy(P::kInfo.name) {}
};

template <class... Ps>
::testing::Types<Ps...> types_of(TypeList<Ps...>);

struct PolicyNames {
  template <class P>
  static std::string GetName(int) {
    std::string name = P::kInfo.name;
    std::ranges::replace(name, '-', '_');
    return name;
  }
};

using Policies = decltype(types_of(AllEvictionPolicies{}));
TYPED_TEST_SUITE(EvictionConformance, Policies, PolicyNames);

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

TYPED_TEST(EvictionConformance, IsTheSameOnRawKeys) {
  if constexpr (OnlinePolicy<TypeParam>) {
    this->is_the_same_on_raw_keys(
        [](const ParamMap& params, Count capacity) -> std::unique_ptr<KeyedCache> {
          return std::make_unique<KeyedCacheOf<TypeParam>>(params, capacity);
        });
  }
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
