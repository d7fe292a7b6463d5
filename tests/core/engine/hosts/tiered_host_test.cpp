// Trusts: naive::Tiers (LRU lists with versioned copies), also of the hosts that
// exclusive_lru.hpp makes, which are what TieredHost is under LRU; caches alone (simulate), and
// small examples worked by hand.
#include "core/engine/hosts/tiered_host.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/component_spec.hpp"
#include "core/engine/hosts/kernels/batched_chain.hpp"
#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/engine/run/run.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/admission_registry.hpp"
#include "policies/hosts/data_path.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/simulate.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/list_hooks.hpp"
#include "tests/support/naive_tiers.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::decide_at_random;
using testing::expect_same;
using testing::interned;
using testing::machine_of;
using testing::random_blocks;
using testing::random_gate;
using testing::random_modes;
using testing::random_modes_by_tier;
using testing::random_targets;
using testing::random_trace;
using testing::single_vm;
using testing::with_writes;

constexpr const char* kLru = "lru";

// Policies of hooks and functions, as those of other languages are.
void put_policies_from_elsewhere() {
  using Made = std::unique_ptr<TierCache>;
  const auto put = [](const char* name, std::function<Made(const PolicySetup&)> make) {
    put_eviction_policy(
        {.info = {.name = name, .summary = "", .reference = ""},
         .params = {},
         .make = [make](const ParamMap&, const PolicySetup& setup) -> absl::StatusOr<Made> {
           return make(setup);
         }});
  };
  put("test:lru", [](const PolicySetup& setup) {
    return std::make_unique<HookedCache>(std::make_unique<testing::ListHooks>(true, 1), setup);
  });
  put("test:lru-ahead", [](const PolicySetup& setup) {
    return std::make_unique<HookedCache>(std::make_unique<testing::ListHooks>(true, 3), setup);
  });
  put("test:recency", [](const PolicySetup& setup) {
    const testing::Formula last = [](auto, std::int64_t at, auto, auto) {
      return static_cast<double>(at);
    };
    return std::make_unique<PriorityCache>(
        std::make_unique<testing::FormulaFunction>(last, PriorityFunction::Terms{}), setup);
  });
}

// All policies as a data path names them; wrappers also with epochs that
// are short enough to end.
std::vector<std::string> tier_policies() {
  put_policies_from_elsewhere();
  std::vector<std::string> specs{"talus(epoch=150,sample=64)",
                                 "slide(epoch=150,sample=64)",
                                 "slide(policy=lru,epoch=90,sample=64)",
                                 "talus(policy=switching(epoch=70),epoch=200)",
                                 "talus(policy=test:lru,epoch=90,sample=64)",
                                 "switching(candidates=lru+mru+lfu,epoch=80,sample=64)",
                                 "switching(candidates=talus(epoch=60)+mru,epoch=150)"};
  for (const auto& entry : eviction_policies()) {
    specs.push_back(fmt::format("{}()", entry.info.name));
  }
  return specs;
}

// The policy alone, with its parameters.
ComponentSpec spec_of(const std::string& policy) { return parse_component(policy).value(); }

// For LRU there may be a structure made for it.
std::unique_ptr<Host> make(const DataPathParams& params, const Machine& machine,
                           const Accesses& trace, const Division& division,
                           bool made_for_lru = false) {
  auto host = made_for_lru ? make_data_path(params, machine, trace, division, 1)
                           : make_tiered_host(params, machine, trace, division, 1);
  EXPECT_TRUE(host.ok()) << host.status();
  return *std::move(host);
}

std::unique_ptr<Host> make_shared(const DataPathParams& params, const Machine& machine,
                                  const Accesses& trace, bool made_for_lru = false) {
  return make(params, machine, trace, shared_by_all(machine, trace), made_for_lru);
}

DataPathParams params_of(const char* policy, Chain chain = Chain::kExclusive,
                         const char* writes = "through") {
  DataPathParams params;
  params.policy = policy;
  params.chain = chain;
  params.writes = writes;
  return params;
}

naive::Tiers::Counts counts_of(const Host& host) { return naive::counts_of(host.counters()); }

Count dirty(const Host& host) {
  Count sum = 0;
  for (const VmCounters& vm : host.counters()) sum += vm.dirty;
  return sum;
}

struct Case {
  Chain chain;
  std::vector<Count> capacity;
  VmId vms;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << name_of(c.chain) << "/" << c.capacity.size() << " tiers/" << c.vms << " VMs";
}

class Chains : public ::testing::TestWithParam<Case> {};

// The slowest tier stages half of its capacity; nothing without a mode.
void expect_counts_of_versions(const Case& c, bool made_for_lru, const char* stage_mode = nullptr) {
  const Machine machine = machine_of(c.capacity);
  const Accesses trace = with_writes(random_trace(4'000, c.vms, 60, 3), 5);
  Random random(7);
  Random discards(8);
  const BlockOwners owners(trace);
  Allocation targets = random_targets(machine, c.vms, random);
  const auto division = [&] { return one_part_each(targets, {.mode = ResizeMode::kEager}); };
  DataPathParams params = params_of(kLru, c.chain, "back");
  if (stage_mode != nullptr) {
    params.admission.clear();
    for (std::size_t k = 1; k < c.capacity.size(); ++k) params.admission += "none / ";
    params.admission += fmt::format("staged(space=0.5,mode={})", stage_mode);
  }
  const auto host = make(params, machine, trace, division(), made_for_lru);
  naive::Tiers twin(c.chain, division().targets);
  if (stage_mode != nullptr) {
    const bool data = std::string_view(stage_mode) == "data";
    twin.stage({.n = 2, .space = c.capacity.back() / 2, .data = data});
  }
  std::vector<WriteMode> modes(c.vms, WriteMode::kBack);
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (r % 500 == 250) {
      targets = random_targets(machine, c.vms, random);
      ASSERT_TRUE(host->resize(targets).ok());
      twin.resize(division().targets);
    }
    if (r % 700 == 699) {
      const VmId gone = trace.request_vm[r];
      host->release(gone);
      twin.release(gone);
      const VmInfo& info = trace.vms[gone];
      for (Count i = 0; i < info.unique_blocks; ++i) {
        twin.drop_staged(info.first_id + i);
      }
      ASSERT_EQ(counts_of(*host), twin.counts()) << "VM " << gone << " departs at " << r;
      ASSERT_EQ(dirty(*host), twin.dirty());
      ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
    if (r % (c.chain == Chain::kExclusive ? 90 : 500) == 0) {
      for (VmId vm = 0; vm < c.vms; ++vm) {
        modes[vm] = static_cast<WriteMode>(random.below(3));
        if (modes[vm] != WriteMode::kBack) twin.flush(vm);
      }
      ASSERT_TRUE(host->set_write_modes(modes).ok());
    }
    if (r % 130 == 60) {
      const std::vector<bool> admits = random_gate(c.vms, random);
      for (VmId vm = 0; vm < c.vms; ++vm) twin.admit(vm, admits[vm]);
      ASSERT_TRUE(host->set_admission(admits).ok());
    }
    if (discards.below(4) == 0) {
      const std::vector<BlockId> blocks = random_blocks(trace, discards);
      host->discard(blocks);
      for (const BlockId block : blocks) twin.discard(owners.vm_of(block), block);
    }
    const VmId vm = trace.request_vm[r];
    for (const BlockId block : trace.blocks_of(r)) {
      if (trace.request_op[r] != 0) {
        twin.write(vm, block, modes[vm]);
      } else {
        ASSERT_TRUE(twin.read(vm, block)) << "old data was read at request " << r;
      }
    }
    host->replay(trace, {r, r + 1});
    ASSERT_EQ(counts_of(*host), twin.counts())
        << "request " << r << ", " << (trace.request_op[r] != 0 ? "a write " : "a read, writes ")
        << name_of(modes[vm]);
    ASSERT_EQ(dirty(*host), twin.dirty()) << "request " << r;
    if (r % 100 == 0) {
      ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
  }
  for (VmId vm = 0; vm < c.vms; ++vm) {
    for (std::size_t k = 0; k < c.capacity.size(); ++k) {
      EXPECT_EQ(host->counters()[vm].tiers[k].occupancy, twin.size(k, vm));
    }
  }
}

TEST_P(Chains, CountWhatVersionsOfDataSayAccessByAccess) {
  expect_counts_of_versions(GetParam(), false);
}

TEST_P(Chains, MadeForLruCountWhatVersionsOfDataSay) {
  expect_counts_of_versions(GetParam(), true);
}

class ModesOfTiers : public ::testing::TestWithParam<Case> {};

// Whatever targets, modes, gates and departures there are: what is counted, and that all is kept
// in the first tier that writes back, below it or by the backend.
void expect_counts_by_tier(const Case& c, std::uint64_t seed, bool made_for_lru) {
  const Machine machine = machine_of(c.capacity);
  const Accesses trace = with_writes(random_trace(3'000, c.vms, 60, seed), seed + 1, 0.6);
  Random random(seed + 2);
  Random discards(seed + 3);
  const BlockOwners owners(trace);
  Allocation targets = random_targets(machine, c.vms, random);
  const auto division = [&] { return one_part_each(targets, {.mode = ResizeMode::kEager}); };
  const DataPathParams params = params_of(kLru, c.chain);
  const auto host = make(params, machine, trace, division(), made_for_lru);
  naive::Tiers twin(c.chain, division().targets);
  std::vector<VmCounters> before = host->counters();
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (random.below(60) == 0) {
      targets = random_targets(machine, c.vms, random);
      ASSERT_TRUE(host->resize(targets).ok());
      twin.resize(division().targets);
      ASSERT_EQ(counts_of(*host), twin.counts()) << "targets, request " << r;
    }
    if (r == 0 || random.below(40) == 0) {
      const ModesByTier modes = random_modes_by_tier(*host, c.capacity.size(), c.vms, random);
      ASSERT_TRUE(host->set_write_modes_by_tier(modes).ok());
      for (VmId vm = 0; vm < c.vms; ++vm) {
        naive::Tiers::Modes of_vm;
        for (const std::vector<WriteMode>& tier : modes) of_vm.push_back(tier[vm]);
        twin.write_modes(vm, of_vm);
      }
      ASSERT_EQ(counts_of(*host), twin.counts()) << "modes, request " << r;
      ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
    if (random.below(200) == 0) {
      const VmId vm = trace.request_vm[r];
      host->release(vm);
      twin.release(vm);
    }
    if (random.below(130) == 0) {
      const std::vector<bool> admits = random_gate(c.vms, random);
      for (VmId vm = 0; vm < c.vms; ++vm) twin.admit(vm, admits[vm]);
      ASSERT_TRUE(host->set_admission(admits).ok());
    }
    if (discards.below(4) == 0) {
      const std::vector<BlockId> blocks = random_blocks(trace, discards);
      host->discard(blocks);
      for (const BlockId block : blocks) twin.discard(owners.vm_of(block), block);
    }
    const VmId vm = trace.request_vm[r];
    for (const BlockId block : trace.blocks_of(r)) {
      if (trace.request_op[r] != 0) {
        twin.write(vm, block);
      } else {
        ASSERT_TRUE(twin.read(vm, block)) << "old data was read at request " << r;
      }
      ASSERT_TRUE(twin.survives(vm, block)) << "request " << r;
    }
    host->replay(trace, {r, r + 1});
    ASSERT_EQ(counts_of(*host), twin.counts()) << "request " << r;
    ASSERT_EQ(dirty(*host), twin.dirty()) << "request " << r;
    if (r % 20 == 0) {
      ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
    const std::vector<VmCounters> now = host->counters();
    for (VmId v = 0; v < c.vms; ++v) {
      const absl::Status law = check_conservation(before[v], now[v]);
      ASSERT_TRUE(law.ok()) << law;
    }
    before = now;
  }
}

TEST_P(ModesOfTiers, CountWhatVersionsOfDataSayAccessByAccess) {
  for (std::uint64_t seed = 700; seed < 708; ++seed) {
    for (const bool made_for_lru : {false, true}) {
      SCOPED_TRACE(fmt::format("seed {}, made for LRU: {}", seed, made_for_lru));
      expect_counts_by_tier(GetParam(), seed, made_for_lru);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ModesOfTiers,
    ::testing::Values(Case{Chain::kVictim, {9, 20}, 2}, Case{Chain::kVictim, {9, 4}, 1},
                      Case{Chain::kVictim, {9, 1}, 1}, Case{Chain::kVictim, {5, 9, 30}, 2},
                      Case{Chain::kVictim, {9, 2, 6, 3}, 1}, Case{Chain::kInclusive, {9, 20}, 2},
                      Case{Chain::kInclusive, {9, 4}, 1}, Case{Chain::kInclusive, {5, 9, 30}, 2},
                      Case{Chain::kInclusive, {3, 5, 8, 13}, 1},
                      Case{Chain::kIndependent, {9, 20}, 2}, Case{Chain::kIndependent, {9, 4}, 1},
                      Case{Chain::kIndependent, {9, 1}, 1},
                      Case{Chain::kIndependent, {5, 9, 30}, 2},
                      Case{Chain::kIndependent, {9, 2, 6, 3}, 1}));

TEST_P(Chains, ThatStageAddressesCountWhatVersionsOfDataSay) {
  expect_counts_of_versions(GetParam(), false, "address");
}

TEST_P(Chains, ThatStageDataCountWhatVersionsOfDataSay) {
  expect_counts_of_versions(GetParam(), false, "data");
}

INSTANTIATE_TEST_SUITE_P(
    All, Chains,
    ::testing::Values(Case{Chain::kExclusive, {12}, 1}, Case{Chain::kExclusive, {9, 20}, 2},
                      Case{Chain::kExclusive, {5, 9, 30}, 3}, Case{Chain::kVictim, {9, 20}, 2},
                      Case{Chain::kVictim, {5, 9, 30}, 1}, Case{Chain::kInclusive, {9, 20}, 2},
                      Case{Chain::kInclusive, {5, 9, 30}, 1}, Case{Chain::kIndependent, {9, 20}, 2},
                      Case{Chain::kIndependent, {5, 9, 30}, 1},
                      // Dirty victims push what comes in out of slower tiers that are smaller.
                      Case{Chain::kVictim, {9, 4}, 1}, Case{Chain::kInclusive, {9, 4}, 1},
                      Case{Chain::kIndependent, {9, 4}, 1}, Case{Chain::kVictim, {9, 1}, 1},
                      Case{Chain::kIndependent, {9, 1}, 1}, Case{Chain::kIndependent, {9, 1, 6}, 1},
                      Case{Chain::kIndependent, {9, 4, 1}, 1},
                      // Tiers of no blocks.
                      Case{Chain::kExclusive, {0, 9, 20}, 1},
                      Case{Chain::kExclusive, {9, 0, 20}, 2}, Case{Chain::kVictim, {9, 0, 20}, 2},
                      Case{Chain::kInclusive, {0, 20}, 1}, Case{Chain::kInclusive, {9, 20, 0}, 1},
                      Case{Chain::kIndependent, {9, 0, 20}, 2}));

// Requests of up to four blocks, reads and writes, of three VMs.
Accesses long_requests(std::uint64_t seed, Nanoseconds requests_each = 400) {
  Random random(seed);
  std::vector<Requests> of_vms(3);
  for (Requests& requests : of_vms) {
    for (Nanoseconds time = 0; time < requests_each; ++time) {
      const std::uint64_t block = random.below(random.below(2) == 0 ? 10 : 80);
      const auto blocks = static_cast<std::uint32_t>(1 + random.below(4));
      requests.push(time, 0, random.below(3) == 0 ? Op::kWrite : Op::kRead, block * 4096,
                    4096 * blocks);
    }
  }
  return interned(of_vms);
}

TEST(TieredHost, ServesMoreAccessesThanABatchHas) {
  const Accesses trace = long_requests(41, 300'000);
  ASSERT_GT(trace.access_count(), BatchedChain::kBatch);
  const Machine machine = machine_of({40, 100});
  Random random(43);
  const Allocation targets = random_targets(machine, 3, random, 1);
  const DivisionRules rules{.mode = ResizeMode::kEager};
  const auto general = make(params_of(kLru), machine, trace, one_part_each(targets, rules));
  const auto special = make_divided_lru(machine, trace, targets, rules).value();
  general->replay(trace, trace.all());
  special->replay(trace, trace.all());
  expect_same(general->counters(), special->counters());
}

TEST(TieredHost, OfOneTierIsACacheAloneUnderEveryPolicy) {
  const Accesses trace = with_writes(random_trace(6'000, 3, 100, 21), 22);
  std::vector<std::uint8_t> ops;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    ops.insert(ops.end(), trace.blocks_of(r).size(), trace.request_op[r]);
  }
  for (const std::string& policy : tier_policies()) {
    SCOPED_TRACE(policy);
    const auto [name, given] = spec_of(policy);
    const std::vector<CacheConfig> alone{
        {.policy = name, .params = given, .capacity = 40, .seed = 1},
        {.policy = name, .params = given, .capacity = 40, .seed = 2}};
    const auto runs = simulate(trace.ids, ops, trace.id_count(), alone).value();
    const CacheCounts& wanted = runs[0].counts;
    DataPathParams params = params_of(policy.c_str(), Chain::kVictim);
    const auto host = make_shared(params, machine_of({40}), trace);
    host->replay(trace, trace.all());
    const naive::Tiers::Counts counts = counts_of(*host);
    // Those that draw random numbers draw others in a tier, and plans are made later.
    if (given.empty() && wanted == runs[1].counts) {
      EXPECT_EQ(counts.hits[0], wanted.hits);
    }
    EXPECT_EQ(counts.hits[1], trace.access_count() - counts.hits[0]);
    EXPECT_EQ(counts.backend_writes, wanted.writes);
    EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
  }
}

// Requests of random operations, targets that change, modes that change, also by tier where there
// are copies: whatever the policies, the laws hold after every step.
void run_at_random(const DataPathParams& params, DivisionRules rules, std::uint64_t seed) {
  const Machine machine = machine_of({15, 40});
  const Accesses trace = with_writes(random_trace(1'200, 3, 80, seed), seed + 1);
  Random random(seed + 2);
  const auto host =
      make(params, machine, trace, one_part_each(random_targets(machine, 3, random, 0), rules));
  std::vector<VmCounters> before = host->counters();
  for (std::size_t r = 0; r < trace.request_count(); r += 25) {
    decide_at_random(*host, machine, trace, true, seed + r);
    ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    host->replay(trace, {r, r + 25});
    ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    const std::vector<VmCounters> now = host->counters();
    for (std::size_t vm = 0; vm < 3; ++vm) {
      const absl::Status law = check_conservation(before[vm], now[vm]);
      ASSERT_TRUE(law.ok()) << law;
    }
    before = now;
  }
}

TEST(TieredHost, KeepsTheLawsUnderEveryPolicyChainAndMode) {
  std::uint64_t seed = 100;
  for (const std::string& policy : tier_policies()) {
    for (const auto& [chain_name, chain] : Choices<Chain>::names) {
      for (const auto& [mode_name, mode] : Choices<ResizeMode>::names) {
        SCOPED_TRACE(fmt::format("{} {} {}", policy, chain_name, mode_name));
        DataPathParams params = params_of(policy.c_str(), chain, "back, vm1=around");
        run_at_random(params, {.mode = mode}, seed += 3);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(TieredHost, KeepsTheLawsBehindEveryFilterWithLimitsOnDirt) {
  std::uint64_t seed = 900;
  for (const auto& filter : admission_registry().entries()) {
    for (const auto& [chain_name, chain] : Choices<Chain>::names) {
      SCOPED_TRACE(fmt::format("{} {}", filter.info.name, chain_name));
      DataPathParams params = params_of("arc / s3-fifo", chain, "back");
      params.admission = filter.info.name;
      params.dirty_limit = 0.2;
      params.flush_every = {300};
      params.update_around = true;
      run_at_random(params, {.mode = ResizeMode::kEager}, seed += 3);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TieredHost, CountsTheDeviceWritesOfTheWorkedExample) {
  const Accesses trace = single_vm({1, 2, 1, 2});
  const auto host = make_shared(params_of(kLru), machine_of({1, 1}), trace);
  host->replay(trace, trace.all());
  const VmCounters vm = host->counters()[0];
  EXPECT_EQ(vm.tiers[0].device_writes(), 4);
  EXPECT_EQ(vm.tiers[1].device_writes(), 3);
  EXPECT_EQ(vm.tiers[1].hits, 2);
  EXPECT_EQ(vm.misses, 2);
  EXPECT_THAT(vm.reads_served.blocks, ::testing::ElementsAre(0, 2, 2, 0, 0, 0, 0, 0, 0));
}

// A line is used next when any of its blocks is. When the fourth line comes, the first, whose
// blocks were accessed in falling order, is never used again and leaves the second tier.
TEST(TieredHost, TakesTheNextUseOfALineDownWithEachOfItsBlocks) {
  Requests requests;
  Nanoseconds now = 0;
  for (const std::uint64_t block : {1, 0, 2, 4, 6, 2}) {
    requests.push(now++, 0, Op::kRead, block * 4096, 4096);
  }
  const Accesses trace = interned({requests}, {.line_blocks = 2});
  const auto host = make_shared(params_of("opt"), machine_of({2, 4}), trace);
  host->replay(trace, trace.all());
  EXPECT_EQ(host->counters()[0].tiers[1].hits, 1);
  EXPECT_EQ(host->counters()[0].misses, 5);
  EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
}

TEST(TieredHost, SaysWhatItIsServedBy) {
  // A request of two blocks waits for the slower.
  Requests requests;
  requests.push(0, 0, Op::kRead, 0, 4096);
  requests.push(1, 0, Op::kRead, 0, 8192);
  requests.push(2, 0, Op::kWrite, 0, 8192);
  requests.push(3, 0, Op::kRead, 0, 8192);
  const Accesses trace = interned({requests});
  for (const bool back : {false, true}) {
    const auto host = make_shared(params_of(kLru, Chain::kExclusive, back ? "back" : "through"),
                                  machine_of({2}), trace);
    host->replay(trace, trace.all());
    const VmCounters vm = host->counters()[0];
    EXPECT_EQ(vm.reads_served.requests[1], 2);
    EXPECT_EQ(vm.reads_served.requests[0], 1);
    EXPECT_EQ(vm.reads_served.blocks[0], 3);
    EXPECT_EQ(vm.writes_served.requests[back ? 0 : 1], 1);
    EXPECT_EQ(vm.writes_served.blocks[back ? 0 : 1], 2);
    EXPECT_EQ(vm.dirty, back ? 2 : 0);
    EXPECT_EQ(vm.backend_writes, back ? 0 : 2);
  }
}

TEST(TieredHost, WritesBackWhenTheTimeHasCome) {
  Accesses trace = single_vm({1, 2, 3, 1, 2, 3, 4});
  trace.request_op = std::vector<std::uint8_t>(trace.request_count(), 1);
  DataPathParams params = params_of(kLru, Chain::kExclusive, "back");
  params.flush_every = {3};
  const auto host = make_shared(params, machine_of({10}), trace);
  host->replay(trace, {0, 3});
  EXPECT_EQ(host->counters()[0].dirty, 3);
  host->replay(trace, {3, 4});  // at time 3, which is when the first flush is due
  EXPECT_EQ(host->counters()[0].dirty, 1);
  EXPECT_EQ(host->counters()[0].write_backs, 3);
  host->replay(trace, {4, 7});
  EXPECT_EQ(host->counters()[0].dirty, 1);
  EXPECT_EQ(host->counters()[0].write_backs, 6);
}

TEST(TieredHost, WritesTheOldestBackBeyondTheLimit) {
  Accesses trace = single_vm({1, 2, 3, 1, 4});
  trace.request_op = std::vector<std::uint8_t>(trace.request_count(), 1);
  DataPathParams params = params_of(kLru, Chain::kExclusive, "back");
  params.dirty_limit = 0.5;
  const auto host = make_shared(params, machine_of({4}), trace);
  host->replay(trace, {0, 3});
  EXPECT_EQ(host->counters()[0].dirty, 2);  // 1 is written back
  host->replay(trace, {3, 5});              // 1 is dirty again, so 2 and then 3 have to go
  EXPECT_EQ(host->counters()[0].dirty, 2);
  EXPECT_EQ(host->counters()[0].write_backs, 3);
}

// Two VMs share the space. What the first has when it is shut out is hit, moves up, is written
// back and gives way to what the second brings in; nothing of the first comes in any more.
TEST(TieredHost, ServesAVmThatIsShutOutWhatItHolds) {
  std::vector<Requests> of_vms(2);
  using Rows = std::vector<std::tuple<Nanoseconds, Op, std::uint64_t>>;
  const auto add = [&](VmId vm, const Rows& rows) {
    for (const auto& [time, op, block] : rows) of_vms[vm].push(time, vm, op, block * 4096, 4096);
  };
  constexpr Op kRead = Op::kRead;
  constexpr Op kWrite = Op::kWrite;
  add(0, {{0, kRead, 1},
          {1, kRead, 2},
          {2, kRead, 3},  // tiers: 3 2 | 1
          {3, kRead, 1},  // comes up: 1 3 | 2
          {4, kRead, 8},
          {5, kWrite, 9},
          {6, kWrite, 2}});  // out, out, and 2 1 | 3
  add(1, {{7, kRead, 1}, {8, kRead, 2}});
  const Accesses trace = interned(of_vms);
  for (const char* writes : {"through", "back"}) {
    for (const bool made_for_lru : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, {}", writes, made_for_lru));
      const DataPathParams params = params_of(kLru, Chain::kExclusive, writes);
      const auto host = make_shared(params, machine_of({2, 1}), trace, made_for_lru);
      host->replay(trace, {0, 3});
      ASSERT_TRUE(host->set_admission({false, true}).ok());
      host->replay(trace, {3, 7});
      VmCounters first = host->counters()[0];
      const bool back = std::string_view(writes) == "back";
      EXPECT_EQ(first.tiers[1].hits, 2);
      EXPECT_EQ(first.tiers[0].fills, 3);
      EXPECT_EQ(first.tiers[0].occupancy + first.tiers[1].occupancy, 3);
      EXPECT_EQ(first.misses, 5);
      EXPECT_EQ(first.backend_reads, 4);
      EXPECT_EQ(first.backend_writes, back ? 1 : 2);
      EXPECT_EQ(first.writes_served.blocks[2], back ? 1 : 2);
      EXPECT_EQ(first.dirty, back ? 1 : 0);
      host->replay(trace, {7, 9});
      first = host->counters()[0];
      EXPECT_EQ(first.tiers[0].occupancy, 0);
      EXPECT_EQ(first.tiers[1].occupancy, 1);
      EXPECT_EQ(first.dirty, back ? 1 : 0) << "what was written last is what is left";
      EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
  }
}

// A blocked block does not reach the filter, so it is not staged either.
TEST(TieredHost, AsksNoFilterForAVmThatIsShutOut) {
  const Accesses trace = single_vm({1, 1, 1});
  DataPathParams params = params_of(kLru);
  params.admission = "nth(n=2)";
  const auto host = make_shared(params, machine_of({4}), trace);
  ASSERT_TRUE(host->set_admission({false}).ok());
  host->replay(trace, {0, 1});
  ASSERT_TRUE(host->set_admission({true}).ok());
  host->replay(trace, {1, 2});
  EXPECT_EQ(host->counters()[0].tiers[0].occupancy, 0);
  host->replay(trace, {2, 3});
  EXPECT_EQ(host->counters()[0].tiers[0].occupancy, 1);
}

// Memory that writes through onto flash that writes back, and memory that is written around: the
// VM waits for the flash, which has what is dirty, and memory may be lost.
TEST(TieredHost, WritesEachTierInItsOwnWay) {
  Accesses trace = single_vm({1, 2, 1, 3, 4, 1});
  trace.request_op = std::vector<std::uint8_t>{1, 0, 1, 1, 1, 0};
  struct Expected {
    const char* writes;
    Count flash_writes, memory_writes, dirty, backend_writes, hits_of_memory;
  };
  for (const Expected& expected :
       {// The write of 4 pushes 2 out of the flash, which is clean; the read of 1 finds the flash.
        Expected{"through / back", 5, 6, 3, 0, 1}, Expected{"around / back", 5, 2, 3, 0, 0},
        // 4 pushes 1 out of the memory, the read of 1 pushes 3: both go through the flash, or
        // around.
        Expected{"back / through", 3, 6, 1, 2, 1}, Expected{"back / around", 2, 6, 1, 2, 1}}) {
    SCOPED_TRACE(expected.writes);
    for (const bool made_for_lru : {false, true}) {
      const DataPathParams params = params_of(kLru, Chain::kIndependent, expected.writes);
      const auto host = make_shared(params, machine_of({2, 3}), trace, made_for_lru);
      host->replay(trace, trace.all());
      const VmCounters vm = host->counters()[0];
      EXPECT_EQ(vm.tiers[0].device_writes(), expected.memory_writes);
      EXPECT_EQ(vm.tiers[1].device_writes(), expected.flash_writes);
      EXPECT_EQ(vm.dirty, expected.dirty);
      EXPECT_EQ(vm.backend_writes, expected.backend_writes);
      EXPECT_EQ(vm.tiers[0].hits, expected.hits_of_memory);
      const bool flash = std::string_view(expected.writes).ends_with("/ back");
      EXPECT_EQ(vm.writes_served.blocks[flash ? 1 : 0], 4);
      EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
  }
}

// Reads of a staging area are none of what a tier or the backend served, and nothing else is
// another thing for them.
TEST(TieredHost, StagesDataForNothingThatTiersDo) {
  for (const Chain chain :
       {Chain::kExclusive, Chain::kVictim, Chain::kInclusive, Chain::kIndependent}) {
    const Accesses trace = long_requests(41);
    Random random(42);
    const auto host_that_stages = [&](const char* mode) {
      DataPathParams params = params_of("arc", chain, "back");
      params.admission = fmt::format("none / staged(n=3,space=2,mode={},read_ns=7)", mode);
      return make_shared(params, machine_of({10, 30}), trace);
    };
    const auto addresses = host_that_stages("address");
    const auto data = host_that_stages("data");
    for (std::size_t r = 0; r < trace.request_count(); ++r) {
      if (r % 40 == 39) {
        const std::vector<WriteMode> modes = random_modes(3, random);
        const std::vector<bool> admits = random_gate(3, random);
        for (Host* const host : {addresses.get(), data.get()}) {
          ASSERT_TRUE(host->set_write_modes(modes).ok());
          ASSERT_TRUE(host->set_admission(admits).ok());
        }
      }
      addresses->replay(trace, {r, r + 1});
      data->replay(trace, {r, r + 1});
    }
    std::vector<VmCounters> expected = addresses->counters();
    const std::vector<VmCounters> counts = data->counters();
    VmCounters none;
    none.tiers.resize(2);
    for (std::size_t vm = 0; vm < 3; ++vm) {
      EXPECT_EQ(expected[vm].staged_hits, 0);
      // A block that is staged hits, so more requests do.
      EXPECT_LE(expected[vm].request_hits, counts[vm].request_hits);
      EXPECT_LE(expected[vm].byte_hits, counts[vm].byte_hits);
      expected[vm].request_hits = counts[vm].request_hits;
      expected[vm].byte_hits = counts[vm].byte_hits;
      const Count staged = counts[vm].staged_hits;
      EXPECT_GT(staged, 0);
      EXPECT_GT(counts[vm].staged_requests, 0);
      EXPECT_EQ(counts[vm].staged_ns, 7 * staged);
      expected[vm].misses -= staged;
      expected[vm].backend_reads -= staged;
      expected[vm].reads_served.blocks[2] -= staged;
      expected[vm].staged_hits = staged;
      expected[vm].staged_ns = 7 * staged;
      // Requests wait less, but their number is equal.
      expected[vm].staged_requests = counts[vm].staged_requests;
      Count requests = counts[vm].staged_requests;
      for (std::size_t k = 0; k <= 2; ++k) requests += counts[vm].reads_served.requests[k];
      Count before = 0;
      for (std::size_t k = 0; k <= 2; ++k) before += expected[vm].reads_served.requests[k];
      EXPECT_EQ(requests, before);
      EXPECT_LT(counts[vm].reads_served.requests[2], expected[vm].reads_served.requests[2]);
      expected[vm].reads_served.requests = counts[vm].reads_served.requests;
      EXPECT_TRUE(check_conservation(none, counts[vm]).ok());
    }
    expect_same(counts, expected);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(data->check_invariants().ok()) << data->check_invariants();
  }
}

// One tier of two blocks, n = 2 and room for two staged ones.
TEST(TieredHost, ReadsWhatIsStagedFromMemory) {
  constexpr Op kRead = Op::kRead;
  constexpr Op kWrite = Op::kWrite;
  struct Step {
    Op op;
    std::vector<std::uint64_t> blocks;
    Count staged_hits;
    Count backend_reads;
    Count occupancy;
  };
  const auto expect = [](const char* writes, const std::vector<Step>& steps, bool update = false) {
    SCOPED_TRACE(fmt::format("{}, {}", writes, update));
    Requests requests;
    Nanoseconds time = 0;
    for (const Step& step : steps) {
      requests.push(++time, 0, step.op, step.blocks[0] * 4096,
                    static_cast<std::uint32_t>(4096 * step.blocks.size()));
    }
    const Accesses trace = interned({requests});
    DataPathParams params = params_of(kLru, Chain::kExclusive, writes);
    params.admission = "staged(mode=data)";
    params.update_around = update;
    const auto host = make_shared(params, machine_of({2}), trace, true);
    for (std::size_t r = 0; r < steps.size(); ++r) {
      host->replay(trace, {r, r + 1});
      const VmCounters now = host->counters()[0];
      EXPECT_EQ(now.staged_hits, steps[r].staged_hits) << "request " << r;
      EXPECT_EQ(now.backend_reads, steps[r].backend_reads) << "request " << r;
      EXPECT_EQ(now.tiers[0].occupancy, steps[r].occupancy) << "request " << r;
      EXPECT_EQ(now.staged_ns, 30 * now.staged_hits);
    }
  };
  expect("through", {{kRead, {1}, 0, 1, 0},
                     {kRead, {1}, 1, 1, 1},  // from memory, and comes in
                     {kRead, {1}, 1, 1, 1},
                     {kRead, {2, 3}, 1, 3, 1},
                     {kRead, {2, 3}, 3, 3, 2},
                     {kRead, {4, 5, 6}, 3, 6, 2},  // 6 takes the place of 4
                     {kRead, {4}, 3, 7, 2}});
  // Written through or back it has the new data: the backend does, too.
  for (const char* writes : {"through", "back"}) {
    expect(writes, {{kWrite, {1}, 0, 0, 0}, {kRead, {1}, 1, 0, 1}});
    expect(writes, {{kRead, {1}, 0, 1, 0}, {kWrite, {1}, 0, 1, 1}, {kRead, {1}, 0, 1, 1}});
  }
  // Written around it has none any more, but its address stays.
  expect("around", {{kRead, {1}, 0, 1, 0}, {kWrite, {1}, 0, 1, 0}, {kRead, {1}, 0, 2, 1}});
  expect("around", {{kRead, {1}, 0, 1, 0}, {kWrite, {1}, 0, 1, 0}, {kRead, {1}, 1, 1, 1}}, true);
}

// Its blocks are served, whether a tier has them or memory; nothing else becomes of them there.
TEST(TieredHost, ServesWhatIsStagedToAVmThatIsShutOut) {
  const Accesses trace = single_vm({1, 1, 1, 2, 2, 1});
  DataPathParams params = params_of(kLru);
  params.admission = "staged(mode=data)";
  const auto host = make_shared(params, machine_of({4}), trace);
  host->replay(trace, {0, 1});
  ASSERT_TRUE(host->set_admission({false}).ok());
  host->replay(trace, {1, 5});
  EXPECT_EQ(host->counters()[0].staged_hits, 2);
  EXPECT_EQ(host->counters()[0].backend_reads, 3) << "nothing was staged";
  EXPECT_EQ(host->counters()[0].tiers[0].occupancy, 0);
  ASSERT_TRUE(host->set_admission({true}).ok());
  host->replay(trace, {5, 6});
  EXPECT_EQ(host->counters()[0].staged_hits, 3);
  EXPECT_EQ(host->counters()[0].tiers[0].occupancy, 1);
}

// SPEC A7, of both modes: what is referenced n times while it is staged is written to flash.
TEST(TieredHost, AdmitsTheReuseWorkingSet) {
  for (const char* mode : {"address", "data"}) {
    for (const Count n : {2, 3, 4}) {
      SCOPED_TRACE(fmt::format("{}, {}", mode, n));
      const auto fills = [&](const Accesses& trace, const char* space) {
        DataPathParams params = params_of(kLru);
        params.admission = fmt::format("staged(n={},space={},mode={})", n, space, mode);
        const auto host = make_shared(params, machine_of({1'000}), trace);
        host->replay(trace, trace.all());
        const VmCounters counts = host->counters()[0];
        EXPECT_EQ(counts.tiers[0].device_writes(), counts.tiers[0].fills);
        return counts.tiers[0].fills;
      };
      std::vector<std::uint64_t> scan(5'000);
      std::iota(scan.begin(), scan.end(), std::uint64_t{0});
      EXPECT_EQ(fills(single_vm(scan), "1"), 0);
      const Accesses reused = random_trace(1'500, 1, 700, 51);
      EXPECT_EQ(fills(reused, "0"), 0);
      std::vector<Count> times(reused.id_count(), 0);
      for (const BlockId block : reused.ids) ++times[block];
      const Count often = std::ranges::count_if(times, [&](Count of) { return of >= n; });
      EXPECT_EQ(fills(reused, "1000"), often);
      EXPECT_GT(often, 0);
    }
  }
}

TEST(TieredHost, GroupsShareTheirPart) {
  const Accesses trace = random_trace(3'000, 3, 60, 31);
  const Machine machine = machine_of({30});
  Division division = shared_by_all(machine, trace);
  division.part_of = {0, 1, 0};
  division.targets = {{20, 10}};
  const auto host = make(params_of("sieve"), machine, trace, division);
  host->replay(trace, trace.all());
  const auto vms = host->counters();
  EXPECT_EQ(vms[0].tiers[0].occupancy + vms[2].tiers[0].occupancy, 20);
  EXPECT_EQ(vms[1].tiers[0].occupancy, 10);
  EXPECT_EQ(vms[1].tiers[0].target, 10);
  EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
}

TEST(TieredHost, RefusesWhatMakesNoSense) {
  const Accesses trace = random_trace(100, 2, 10, 1);
  const Machine machine = machine_of({4, 4});
  const Division shared = shared_by_all(machine, trace);
  const auto error = [&](const DataPathParams& params) {
    return message_of(make_data_path(params, machine, trace, shared, 1).status());
  };
  EXPECT_EQ(error(params_of("lru / arc / lru")), "policy: 3 entries for 2 tiers");
  EXPECT_THAT(error(params_of("sive")), ::testing::HasSubstr("did you mean 'sieve'?"));
  EXPECT_THAT(error(params_of("arc(stop=integer)")), ::testing::HasSubstr("did you mean 'step'?"));
  EXPECT_THAT(error(params_of("talus(policy=opt)")),
              ::testing::HasSubstr("opt needs the future of the trace: it cannot be wrapped"));
  EXPECT_THAT(error(params_of("arc", Chain::kVictim, "backwards")),
              ::testing::HasSubstr("one of through, back, around"));
  EXPECT_THAT(error(params_of("arc", Chain::kVictim, "back, vm3=around")),
              ::testing::HasSubstr("no VM 'vm3'"));
  EXPECT_EQ(error(params_of("arc", Chain::kVictim, "through / back / back")),
            "writes: 3 entries for 2 tiers");
  EXPECT_THAT(error(params_of(kLru, Chain::kExclusive, "through, vm1=through / back")),
              ::testing::HasSubstr("writes: an exclusive chain has one copy of a block"));
  EXPECT_THAT(error(params_of("arc", Chain::kInclusive, "back / through")),
              ::testing::HasSubstr("it cannot be written through below one that is written back"));
  EXPECT_THAT(error(params_of("arc", Chain::kInclusive, "through / around")),
              ::testing::HasSubstr("the order is around, through, back"));
  DataPathParams staging = params_of(kLru, Chain::kVictim, "through / back");
  staging.admission = "none / staged(mode=data)";
  EXPECT_THAT(error(staging), ::testing::HasSubstr("with staged data a VM needs one write mode"));
  staging.writes = "back";
  const auto staged = make(staging, machine, trace, shared);
  EXPECT_FALSE(staged->supports().has(Action::kWriteModesByTier));
  EXPECT_THAT(message_of(staged->set_write_modes_by_tier(
                  {std::vector(2, WriteMode::kThrough), std::vector(2, WriteMode::kBack)})),
              ::testing::HasSubstr("not through in one and back in another"));
  const auto copies = make(params_of(kLru, Chain::kVictim), machine, trace, shared);
  EXPECT_EQ(message_of(copies->set_write_modes_by_tier({std::vector<WriteMode>(2)})),
            "write modes by tier: expected 2 tiers x 2 VMs, got 1 x 2");
  const auto host = make(params_of(kLru), machine, trace, shared);
  EXPECT_FALSE(host->resize(Allocation(2, 2)).ok());
  EXPECT_FALSE(host->set_write_modes(std::vector<WriteMode>(1)).ok());
  EXPECT_EQ(message_of(host->set_admission({true})), "admits: expected 2 VMs, got 1");
}

// Four times 2^61 is zero in 64 bits.
TEST(TieredHost, AndTheOneMadeForLruRefuseTargetsWhoseSumOverflows) {
  const Accesses trace = random_trace(100, 4, 10, 1);
  const Machine machine = machine_of({8, 8});
  const Allocation targets = proportional(machine, std::vector<double>(4, 1.0));
  Allocation greedy(2, 4);
  for (std::size_t vm = 0; vm < 4; ++vm) greedy.at(1, vm) = Count{1} << 61;
  const Division division = one_part_each(targets, {.mode = ResizeMode::kEager});
  for (const bool made_for_lru : {false, true}) {
    const auto host = make(params_of(kLru), machine, trace, division, made_for_lru);
    EXPECT_EQ(message_of(host->resize(greedy)),
              "targets: tier 1 grants 9.223372036854776e+18 blocks of 8");
    host->replay(trace, trace.all());
    for (const VmCounters& vm : host->counters()) {
      EXPECT_EQ(vm.tiers[0].target, 2);
      EXPECT_EQ(vm.tiers[1].target, 2);
    }
    EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
  }
}

// Ten million flushes are due between two requests, and the last is due near the end of time.
TEST(TieredHost, FlushesOnceWhereManyFlushesAreDue) {
  Accesses trace = single_vm({1, 2, 3, 1, 2});
  trace.request_op = std::vector<std::uint8_t>(trace.request_count(), 1);
  constexpr Nanoseconds kEnd = std::numeric_limits<Nanoseconds>::max();
  trace.request_time = {{0, 1, 10'000'000'000'000'000, kEnd - 1, kEnd}};
  DataPathParams params = params_of(kLru, Chain::kExclusive, "back");
  params.flush_every = {1'000'000};
  for (const bool made_for_lru : {false, true}) {
    const auto host = make_shared(params, machine_of({10}), trace, made_for_lru);
    host->replay(trace, trace.all());
    EXPECT_EQ(host->counters()[0].write_backs, 3);
    EXPECT_EQ(host->counters()[0].dirty, 2);
  }
}

// Whatever the chain, the mode and the writes: hooks that are LRU, a function that is, and
// a wrapper that never does anything are LRU.
TEST(TieredHost, IsTheSameUnderEverythingThatIsLru) {
  put_policies_from_elsewhere();
  std::uint64_t seed = 5'000;
  for (const char* policy : {"test:lru", "test:recency", "talus", "slide(policy=lru)",
                             "switching(candidates=lru+lru,epoch=50)"}) {
    for (const auto& [chain_name, chain] : Choices<Chain>::names) {
      for (const auto& [mode_name, mode] : Choices<ResizeMode>::names) {
        SCOPED_TRACE(fmt::format("{} {} {}", policy, chain_name, mode_name));
        const Machine machine = machine_of({15, 40});
        ++seed;
        const Accesses trace = with_writes(random_trace(1'500, 3, 80, seed), seed);
        Random random(seed);
        const Division division =
            one_part_each(random_targets(machine, 3, random, 0), {.mode = mode});
        const char* const writes = "back, vm1=around";
        const auto ours = make(params_of(policy, chain, writes), machine, trace, division);
        const auto theirs = make(params_of(kLru, chain, writes), machine, trace, division);
        for (std::size_t r = 0; r < trace.request_count(); r += 30) {
          const Allocation targets = random_targets(machine, 3, random, 0);
          const std::vector<bool> admits = random_gate(3, random);
          for (Host* const host : {ours.get(), theirs.get()}) {
            ASSERT_TRUE(host->resize(targets).ok());
            ASSERT_TRUE(host->set_admission(admits).ok());
            host->replay(trace, {r, r + 30});
          }
          ASSERT_TRUE(ours->failure().ok()) << ours->failure();
          expect_same(ours->counters(), theirs->counters());
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// A loop over more than the space, in the first of two tiers, and in the second.
TEST(TieredHost, HasNoCliffUnderTalusInAnyTier) {
  std::vector<std::uint64_t> loop;
  for (std::uint64_t i = 0; i < 200'000; ++i) loop.push_back(i % 8'000);
  const Accesses trace = single_vm(loop);
  const auto hits = [&](const char* policy, std::size_t tier) {
    const auto host = make_shared(params_of(policy), machine_of({1'000, 4'000}), trace);
    host->replay(trace, trace.all());
    EXPECT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    return host->counters()[0].tiers[tier].hits;
  };
  EXPECT_EQ(hits(kLru, 0) + hits(kLru, 1), 0);
  // An eighth and a half of the loop, less the margin and what is learnt first.
  EXPECT_GT(hits("talus(epoch=20000,margin=0.1) / lru", 0), 200'000 * 0.08);
  EXPECT_GT(hits("lru / talus(epoch=20000,margin=0.1)", 1), 200'000 * 0.35);
}

}  // namespace
}  // namespace mcsim
