// Trusts: naive::ExclusiveLru (the published data path on std::list), plain LRU, and examples
// worked by hand.
#include "core/engine/hosts/kernels/exclusive_lru.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.hpp"
#include "core/engine/tiers/block_owners.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/naive_host.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_blocks;
using testing::random_targets;
using testing::random_trace;
using testing::single_vm;

// Tier hit by every access: replays one request at a time.
std::vector<std::size_t> tiers_hit(Host& host, const Accesses& trace, RequestRange range) {
  std::vector<std::size_t> hit;
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const std::size_t vm = trace.request_vm[r];
    const VmCounters before = host.counters()[vm];
    host.replay(trace, {r, r + 1});
    const VmCounters after = host.counters()[vm];
    std::size_t tier = 0;
    while (tier < after.tiers.size() && after.tiers[tier].hits == before.tiers[tier].hits) ++tier;
    hit.push_back(tier);
  }
  return hit;
}

struct Case {
  std::vector<Count> capacity;
  VmId vms;
  DivisionRules rules;
};

class Divided : public ::testing::TestWithParam<Case> {};

TEST_P(Divided, IsTheNaiveHostAccessByAccessThroughResizes) {
  const Case& c = GetParam();
  const Accesses trace = random_trace(4'000, c.vms, 60, 7);
  const Machine machine = machine_of(c.capacity);
  Random random(11);
  const BlockOwners owners(trace);
  Allocation targets = random_targets(machine, c.vms, random);
  // With more than three tiers, and with strict-own resizing, a TieredHost.
  auto host =
      make_data_path(DataPathParams{}, machine, trace, one_part_each(targets, c.rules), 1).value();
  naive::ExclusiveLru twin(c.capacity, targets, c.rules);
  for (std::size_t begin = 0; begin < trace.request_count(); begin += 500) {
    const RequestRange range{begin, std::min(begin + 500, trace.request_count())};
    std::vector<std::size_t> expected;
    for (std::size_t r = range.begin; r < range.end; ++r) {
      expected.push_back(twin.access(trace.request_vm[r], trace.ids[r]));
    }
    EXPECT_EQ(tiers_hit(*host, trace, range), expected);
    for (std::size_t v = 0; v < c.vms; ++v) {
      for (std::size_t k = 0; k < c.capacity.size(); ++k) {
        EXPECT_EQ(host->counters()[v].tiers[k].occupancy, twin.size(v, k));
      }
    }
    EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    // VMs go in turn; those that had gone come again, as the host has nothing against it.
    const VmId gone(begin / 500 % c.vms);
    const auto first = trace.vms[gone].first_id;
    host->release(gone);
    twin.release(gone, first, first + trace.vms[gone].unique_blocks);
    const std::vector<BlockId> blocks = random_blocks(trace, random);
    host->discard(blocks);
    for (const BlockId block : blocks) twin.release(owners.vm_of(block), block, block + 1);
    EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    const std::vector<VmCounters> after = host->counters();
    for (const TierCounters& tier : after[gone].tiers) EXPECT_EQ(tier.occupancy, 0);
    targets = random_targets(machine, c.vms, random);
    ASSERT_TRUE(host->resize(targets).ok());
    twin.resize(targets);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Divided,
    ::testing::Values(Case{{20, 50}, 3, {ResizeMode::kLazy, VictimRule::kMostOver}},
                      Case{{20, 50}, 3, {ResizeMode::kLazy, VictimRule::kFirstOver}},
                      Case{{20, 50}, 3, {ResizeMode::kEager, VictimRule::kMostOver}},
                      Case{{20, 50}, 3, {ResizeMode::kStrictOwn, VictimRule::kMostOver}},
                      Case{{40}, 2, {ResizeMode::kLazy, VictimRule::kMostOver}},
                      Case{{7, 1, 30}, 4, {ResizeMode::kEager, VictimRule::kMostOver}},
                      Case{{5, 0, 9}, 2, {ResizeMode::kStrictOwn, VictimRule::kMostOver}},
                      Case{{3, 4, 5, 6, 7, 8, 9, 10}, 2, {}},
                      Case{{90, 200}, 40, {ResizeMode::kLazy, VictimRule::kMostOver}},
                      Case{{90, 200}, 40, {ResizeMode::kLazy, VictimRule::kFirstOver}},
                      Case{{90, 200}, 40, {ResizeMode::kStrictOwn, VictimRule::kMostOver}}));

TEST(SharedLru, IsTheNaiveHostAccessByAccess) {
  const Accesses trace = random_trace(4'000, 3, 60, 3);
  const std::vector<Count> capacity{15, 40};
  auto host = make_shared_lru(machine_of(capacity), trace).value();
  naive::ExclusiveLru twin(capacity, Allocation(2, 1), {});
  Random random(4);
  for (std::size_t begin = 0; begin < trace.request_count(); begin += 500) {
    const RequestRange range{begin, std::min(begin + 500, trace.request_count())};
    std::vector<std::size_t> expected;
    for (std::size_t r = range.begin; r < range.end; ++r) {
      expected.push_back(twin.access(0, trace.ids[r]));
    }
    EXPECT_EQ(tiers_hit(*host, trace, range), expected);
    EXPECT_TRUE(host->check_invariants().ok());
    const std::vector<VmCounters> before = host->counters();
    const VmId gone(begin / 500 % 3);
    const auto first = trace.vms[gone].first_id;
    host->release(gone);
    twin.release(0, first, first + trace.vms[gone].unique_blocks);
    const std::vector<BlockId> blocks = random_blocks(trace, random);
    host->discard(blocks);
    for (const BlockId block : blocks) twin.release(0, block, block + 1);
    EXPECT_TRUE(host->check_invariants().ok());
    EXPECT_TRUE(check_conservation(before[gone], host->counters()[gone]).ok());
  }
}

TEST(SharedLru, Tier1HitsAreLruOfTier1AndAllHitsLruOfTheSum) {
  const Accesses trace = random_trace(3'000, 1, 80, 5);
  const auto fast = naive::lru_hits(trace.ids.copy(), 10);
  const auto both = naive::lru_hits(trace.ids.copy(), 35);
  auto host = make_shared_lru(machine_of({10, 25}), trace).value();
  const auto hit = tiers_hit(*host, trace, trace.all());
  for (std::size_t i = 0; i < hit.size(); ++i) {
    EXPECT_EQ(hit[i] == 0, fast[i]) << i;
    EXPECT_EQ(hit[i] < 2, both[i]) << i;
  }
}

// A tier of no blocks, and one in which a VM has no target: no fill and no write there.
TEST(ExclusiveLru, BypassesTiersWithoutRoom) {
  const Accesses trace = single_vm({1, 2, 1, 3, 2, 2});
  const auto expect_bypass = [&](Host& host, std::size_t tier) {
    // 1 and 2 come in, 1 is hit, 3 pushes 2 out, 2 pushes 1 out and is hit.
    host.replay(trace, trace.all());
    const VmCounters vm = host.counters()[0];
    EXPECT_EQ(vm.misses, 4);
    for (std::size_t k = 0; k < vm.tiers.size(); ++k) {
      const TierCounters& of = vm.tiers[k];
      EXPECT_EQ(of.hits, k == tier ? 2 : 0) << k;
      EXPECT_EQ(of.fills, k == tier ? 4 : 0) << k;
      EXPECT_EQ(of.device_writes(), k == tier ? 4 : 0) << k;
      EXPECT_EQ(of.evictions, k == tier ? 2 : 0) << k;
      EXPECT_EQ(of.copied_out, 0) << k;
    }
  };
  for (const std::vector<Count>& capacity :
       {std::vector<Count>{0, 2}, {2, 0}, {0, 2, 0}, {0, 0, 2}, {2}, {0, 2, 0, 0}}) {
    const std::size_t tier =
        static_cast<std::size_t>(std::ranges::find(capacity, 2) - capacity.begin());
    const Machine machine = machine_of(capacity);
    DataPathParams params;
    params.policy = "lru";
    for (const bool as_one_part : {false, true}) {
      Allocation targets(capacity.size(), 1);
      targets.at(tier, 0) = 2;
      const Division division = as_one_part ? one_part_each(targets, {.mode = ResizeMode::kEager})
                                            : shared_by_all(machine, trace);
      expect_bypass(*make_data_path(params, machine, trace, division, 1).value(), tier);
      expect_bypass(*make_tiered_host(params, machine, trace, division, 1).value(), tier);
    }
  }
}

// A write around that drops its block is an invalidation and a miss.
TEST(ExclusiveLru, CountsADroppedBlockAsAMiss) {
  Accesses trace = single_vm({1, 1, 1});
  trace.request_op = std::vector<std::uint8_t>{0, 1, 0};
  const auto host =
      make_shared_lru(machine_of({2, 2}), trace, {.modes = {WriteMode::kAround}}).value();
  host->replay(trace, trace.all());
  const VmCounters vm = host->counters()[0];
  EXPECT_EQ(vm.misses, 3);
  EXPECT_EQ(vm.write_misses, 1);
  EXPECT_EQ(vm.tiers[0].hits, 0);
  EXPECT_EQ(vm.tiers[0].invalidations, 1);
  EXPECT_EQ(vm.tiers[0].fills, 2);
}

TEST(SharedLru, FourAccessesByHand) {
  const Accesses trace = single_vm({1, 2, 1, 2});
  auto host = make_shared_lru(machine_of({1, 1}), trace).value();
  EXPECT_THAT(tiers_hit(*host, trace, trace.all()), ::testing::ElementsAre(2, 2, 1, 1));
  const VmCounters vm = host->counters()[0];
  EXPECT_EQ(vm.tiers[0].device_writes(), 4);
  EXPECT_EQ(vm.tiers[1].device_writes(), 3);
  EXPECT_EQ(vm.tiers[0].hits + vm.tiers[1].hits, 2);
}

// Long hit runs force the log to be compacted many times over.
TEST(SharedLru, SurvivesEndlessHitsOnFewBlocks) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < 5'000; ++i) blocks.push_back(i % 3);
  const Accesses trace = single_vm(blocks);
  auto host = make_shared_lru(machine_of({1, 1, 1}), trace).value();
  host->replay(trace, trace.all());
  EXPECT_EQ(host->counters()[0].misses, 3);
  EXPECT_EQ(host->counters()[0].tiers[2].hits, 4'997);
  EXPECT_TRUE(host->check_invariants().ok());
}

TEST(ExclusiveLru, RefusesWhatCannotBe) {
  const Accesses trace = single_vm({1, 2});
  EXPECT_EQ(message_of(make_shared_lru(machine_of({}), trace).status()),
            "tiers: expected 1 to 3, got 0");
  EXPECT_EQ(message_of(make_divided_lru(machine_of({10}), trace, Allocation(1, 1),
                                        {.mode = ResizeMode::kStrictOwn})
                           .status()),
            "resize_mode: expected eager or lazy, got strict-own");
  Allocation greedy(1, 1);
  greedy.at(0, 0) = 11;
  EXPECT_EQ(message_of(make_divided_lru(machine_of({10}), trace, greedy, {}).status()),
            "targets: tier 0 grants 11 blocks of 10");
  auto shared = make_shared_lru(machine_of({10}), trace).value();
  EXPECT_FALSE(shared->resize(greedy).ok());
}

}  // namespace
}  // namespace mcsim
