// Trusts: NaiveBackgroundFifo over an LRU list, access by access.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "policies/eviction/lru.hpp"
#include "tests/support/background_policy.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::BackgroundFifo;
using testing::NaiveBackgroundFifo;

// Two tiers that all VMs share: a background FIFO over LRU, exclusive.
std::unique_ptr<TieredHost> host_of(const Accesses& trace, Count fast, Count slow, WriteMode mode,
                                    std::optional<Count> most_dirty = std::nullopt) {
  TieredSetup setup{.tiers = {},
                    .table = std::make_shared<SlotTable>(trace.id_count(), 2),
                    .part_of = std::vector<std::size_t>(trace.vms.size(), 0),
                    .writes = {}};
  const auto setup_of = [&](std::size_t tier, Count capacity) {
    return PolicySetup{
        .capacity = capacity, .blocks = trace.id_count(), .table = setup.table, .column = tier};
  };
  const auto add = [&](std::unique_ptr<TierCache> cache, Count capacity) {
    std::vector<Tier::Part> parts;
    parts.push_back({.cache = std::move(cache), .target = capacity});
    setup.tiers.emplace_back(capacity, std::move(parts), DivisionRules{.mode = ResizeMode::kEager},
                             nullptr);
  };
  add(std::make_unique<PolicyCacheOf<BackgroundFifo>>(NoParams{}, setup_of(0, fast)), fast);
  add(std::make_unique<PolicyCacheOf<Lru>>(NoParams{}, setup_of(1, slow)), slow);
  if (most_dirty) setup.writes.most_dirty = *most_dirty;
  setup.writes.by_tier = ModesByTier(2, std::vector<WriteMode>(trace.vms.size(), mode));
  return TieredHost::make(std::move(setup), trace).value();
}

// Reads and writes of whole blocks at random times.
Accesses workload(std::uint64_t seed) {
  Random random(seed);
  std::vector<Requests> of_vms(2);
  Nanoseconds time = 3;
  for (int i = 0; i < 2000; ++i) {
    time += random.below(3) == 0 ? static_cast<Nanoseconds>(random.below(40)) : 0;
    const auto vm = static_cast<VmId>(random.below(2));
    const std::uint64_t block = random.below(random.below(2) == 0 ? 6 : 40);
    const auto op = random.below(3) == 0 ? Op::kWrite : Op::kRead;
    of_vms[vm].push(time, vm, op, block * 4096, static_cast<std::uint32_t>(4096));
  }
  return testing::interned(of_vms);
}

struct NaiveTwoTiers {
  NaiveBackgroundFifo fast;
  std::size_t slow_capacity;
  std::list<BlockId> slow = {};  // the most recently used first
  std::set<BlockId> dirty = {};
  Count write_backs = 0;

  void clean(BlockId block) { write_backs += static_cast<Count>(dirty.erase(block)); }
  void put_slow(BlockId block) {
    if (slow.size() == slow_capacity) {
      clean(slow.back());
      slow.pop_back();
    }
    slow.push_front(block);
  }
  void settle() {
    for (const BlockId block : std::exchange(fast.victims, {})) put_slow(block);
  }
  void tick() {
    fast.tick();
    for (const BlockId block : std::exchange(fast.cleaned, {})) clean(block);
    settle();
  }
  // Return the tier of the hit; 2: none.
  std::size_t access(BlockId block, bool write, bool back) {
    std::size_t found = 2;
    const auto in_slow = std::ranges::find(slow, block);
    if (fast.holds(block)) {
      found = 0;
    } else if (const bool admitted = fast.admits(block); in_slow != slow.end()) {
      found = 1;
      slow.erase(in_slow);
      if (!admitted) {
        slow.push_front(block);
      } else {
        insert(block);
      }
    } else if (admitted) {
      insert(block);
    } else {
      put_slow(block);
    }
    if (write && back) dirty.insert(block);
    settle();
    return found;
  }
  // Victims of the insertion leave before those of refusals.
  void insert(BlockId block) {
    const auto refused = std::exchange(fast.victims, {});
    fast.insert(block);
    settle();
    fast.victims = refused;
  }
};

TEST(BackgroundWork, OfTheFastestTierIsThatOfItsTwin) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Accesses trace = workload(seed);
    for (const WriteMode mode : {WriteMode::kThrough, WriteMode::kBack}) {
      Random random(seed);
      const std::size_t fast = 1 + random.below(10);
      const std::size_t slow = 1 + random.below(20);
      const auto host = host_of(trace, static_cast<Count>(fast), static_cast<Count>(slow), mode);
      NaiveTwoTiers twin{.fast = {.capacity = fast}, .slow_capacity = slow};
      Nanoseconds next = trace.request_time.front() + BackgroundFifo::kPeriod;
      std::array<Count, 3> hits{};
      VmCounters none;
      none.tiers.resize(2);
      for (std::size_t begin = 0; begin < trace.request_count();) {
        const std::size_t end = std::min(trace.request_count(), begin + 1 + random.below(200));
        host->replay(trace, {begin, end});
        for (; begin < end; ++begin) {
          for (; next <= trace.request_time[begin]; next += BackgroundFifo::kPeriod) twin.tick();
          ++hits[twin.access(trace.blocks_of(begin)[0], trace.request_op[begin] == 1,
                             mode == WriteMode::kBack)];
        }
        std::array<Count, 3> counted{};
        Count write_backs = 0;
        for (const VmCounters& vm : host->counters()) {
          for (std::size_t k = 0; k < 2; ++k) counted[k] += vm.tiers[k].hits;
          counted[2] += vm.misses;
          write_backs += vm.write_backs;
          EXPECT_TRUE(check_conservation(none, vm).ok());
        }
        ASSERT_EQ(counted, hits) << "seed " << seed << " before request " << end;
        ASSERT_EQ(write_backs, twin.write_backs) << "seed " << seed << " before request " << end;
        ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
        for (BlockId block = 0; block < trace.id_count(); ++block) {
          const VmId vm = block < trace.vms[1].first_id ? VmId(0) : VmId(1);
          ASSERT_EQ(host->holds(0, vm, block), twin.fast.holds(block)) << block;
          ASSERT_EQ(host->holds(1, vm, block),
                    std::ranges::find(twin.slow, block) != twin.slow.end());
          ASSERT_EQ(host->dirty(block), twin.dirty.contains(block));
        }
      }
      EXPECT_GT(hits[0] * hits[1] * hits[2], 0);
    }
  }
}

// The oldest dirty block may be one that a refusal just evicted.
TEST(BackgroundWork, KeepsTheLawsWithALimitOfDirtyBlocks) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Accesses trace = workload(seed);
    const auto host = host_of(trace, 6, 10, WriteMode::kBack, 3);
    host->replay(trace, trace.all());
    VmCounters none;
    none.tiers.resize(2);
    Count dirty = 0;
    for (const VmCounters& vm : host->counters()) {
      EXPECT_TRUE(check_conservation(none, vm).ok()) << check_conservation(none, vm);
      dirty += vm.dirty;
    }
    EXPECT_LE(dirty, 3);
    EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
  }
}

TEST(BackgroundWork, NeedsAClock) {
  std::vector<Requests> one(1);
  one[0].push(0, 0, Op::kRead, 0, 4096);
  AccessBuilder builder({}, TimeBase::kIndex);
  ASSERT_TRUE(builder.begin_vm("vm").ok());
  ASSERT_TRUE(builder.add(one[0].view()).ok());
  const Accesses trace = std::move(builder).finish().value();
  TieredSetup setup{.tiers = {},
                    .table = std::make_shared<SlotTable>(trace.id_count(), 1),
                    .part_of = {0},
                    .writes = {}};
  std::vector<Tier::Part> parts;
  parts.push_back({.cache = std::make_unique<PolicyCacheOf<BackgroundFifo>>(
                       NoParams{}, PolicySetup{.blocks = 1, .table = setup.table}),
                   .target = 1});
  setup.tiers.emplace_back(1, std::move(parts), DivisionRules{.mode = ResizeMode::kEager}, nullptr);
  setup.writes.by_tier = {{WriteMode::kThrough}};
  EXPECT_EQ(message_of(TieredHost::make(std::move(setup), trace).status()),
            "policy: it reads the time, which the trace does not have");
}

}  // namespace
}  // namespace mcsim
