// Trusts: naive::Fleet (LRU lists with versioned copies, lists of pending transfers);
// hosts simulated one by one; small examples worked by hand; the laws of counting.
#include "core/engine/hosts/fleet_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/run/run.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/naive_fleet.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;

constexpr double kRate = 1e8;  // a block in 10 ns

Machine fleet_of(const std::vector<Count>& capacities, std::size_t hosts,
                 std::map<std::string, std::size_t> host_of_vm) {
  Machine machine = machine_of(capacities);
  for (std::size_t host = 0; host < hosts; ++host) {
    machine.fleet.hosts.push_back(fmt::format("h{}", host));
  }
  machine.fleet.host_of_vm = std::move(host_of_vm);
  machine.fleet.link = {.latency_ns = 1000, .blocks_per_second = kRate};
  return machine;
}

struct Row {
  Nanoseconds time;
  VmId vm;
  Op op;
  std::uint64_t block;
  std::uint32_t blocks = 1;
};

Accesses trace_of(const std::vector<Row>& rows, VmId vms) {
  std::vector<Requests> of_vms(vms);
  for (const Row& row : rows) {
    of_vms[row.vm].push(row.time, row.vm, row.op, row.block * 4096, row.blocks * 4096);
  }
  return testing::interned(of_vms);
}

// Requests of one to three blocks, half of them of a tenth of a VM's blocks, at steps of 1 to 5.
std::vector<Row> random_rows(std::size_t count, VmId vms, std::uint64_t blocks, Random& random) {
  std::vector<Row> rows;
  Nanoseconds time = -100;
  for (std::size_t i = 0; i < count; ++i) {
    time += static_cast<Nanoseconds>(1 + random.below(5));
    rows.push_back({.time = time,
                    .vm = static_cast<VmId>(random.below(vms)),
                    .op = random.below(5) < 2 ? Op::kWrite : Op::kRead,
                    .block = random.below(random.below(2) == 0 ? blocks / 10 : blocks),
                    .blocks = static_cast<std::uint32_t>(1 + random.below(3))});
  }
  return rows;
}

// Targets of the VMs on each host, with a minimum for each tier.
Allocation random_targets(const Machine& machine, const std::vector<std::size_t>& host_of,
                          Random& random, Count least) {
  Allocation targets(machine.tiers.size(), host_of.size());
  for (std::size_t k = 0; k < machine.tiers.size(); ++k) {
    for (std::size_t host = 0; host < machine.fleet.count(); ++host) {
      Count left = machine.tiers[k].capacity_blocks - least * std::ranges::count(host_of, host);
      for (std::size_t vm = 0; vm < host_of.size(); ++vm) {
        if (host_of[vm] != host) continue;
        const auto more = static_cast<Count>(random.below(static_cast<std::uint64_t>(left) + 1));
        targets.at(k, vm) = least + more;
        left -= more;
      }
    }
  }
  return targets;
}

// Equal targets of each tier for every VM.
Allocation all_get(const std::vector<Count>& blocks, std::size_t vms) {
  Allocation targets(blocks.size(), vms);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    for (std::size_t vm = 0; vm < vms; ++vm) targets.at(k, vm) = blocks[k];
  }
  return targets;
}

Division parts(const Allocation& targets) {
  return one_part_each(targets, {.mode = ResizeMode::kEager});
}

std::unique_ptr<Host> make(const Machine& machine, const Accesses& trace, const Allocation& targets,
                           const DataPathParams& params) {
  auto host = make_data_path(params, machine, trace, parts(targets), 1);
  EXPECT_TRUE(host.ok()) << host.status();
  return *std::move(host);
}

naive::Fleet::Counts moved(const VmCounters& of) {
  naive::Fleet::Counts counts{.sent = of.sent,
                              .transferred = of.transferred,
                              .on_demand = of.on_demand,
                              .left_behind = of.left_behind,
                              .on_the_way = of.on_the_way,
                              .transfers = {},
                              .remote_reads = {},
                              .remote_requests = {}};
  for (const TierCounters& tier : of.tiers) {
    counts.transfers.push_back(tier.transfers);
    counts.remote_reads.push_back(tier.remote_reads);
    counts.remote_requests.push_back(tier.remote_requests);
  }
  return counts;
}

struct Case {
  Chain chain;
  std::vector<Count> capacity;  // of a host
  std::size_t hosts;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << name_of(c.chain) << "/" << c.capacity.size() << " tiers/" << c.hosts << " hosts";
}

class Fleets : public ::testing::TestWithParam<Case> {};

TEST_P(Fleets, CountWhatListsSayRequestByRequest) {
  constexpr VmId kVms = 4;
  const Case& c = GetParam();
  Random random(11);
  const std::vector<Row> rows = random_rows(3'000, kVms, 40, random);
  const Accesses trace = trace_of(rows, kVms);
  Random discards(12);
  const BlockOwners owners(trace);
  const Machine machine = fleet_of(c.capacity, c.hosts, {{"vm1", 1}, {"vm3", c.hosts - 1}});
  std::vector<std::size_t> host_of{0, 1, 0, c.hosts - 1};
  // Some VMs get nothing of some tiers, where chains may differ only in what they do about it.
  const Count least = c.chain == Chain::kExclusive ? 0 : 1;
  Allocation targets = random_targets(machine, host_of, random, least);
  DataPathParams params;
  params.chain = c.chain;
  params.writes = "back";
  const auto host = make(machine, trace, targets, params);
  naive::Fleet twin(naive::Tiers(c.chain, parts(targets).targets), c.capacity.size(), kVms);
  std::vector<WriteMode> modes(kVms, WriteMode::kBack);
  std::vector<VmCounters> before = host->counters();
  naive::Fleet::Counts seen{.transfers = {}, .remote_reads = {}, .remote_requests = {}};
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    const Nanoseconds now = trace.request_time[r] - trace.request_time[0];
    if (r % 40 == 20) {
      std::vector<Migration> moves;
      for (std::size_t vm = 0; vm < kVms; ++vm) {
        if (vm != r / 40 % kVms && random.below(3) > 0) continue;
        moves.push_back({.vm = VmId(vm),
                         .host = (host_of[vm] + 1 + random.below(c.hosts - 1)) % c.hosts,
                         .keep = random.below(4) > 0,
                         .blocks_per_second = random.below(2) == 0 ? 0 : kRate / 4,
                         .on_demand = static_cast<OnDemand>(random.below(2))});
        host_of[vm] = moves.back().host;
      }
      targets = random_targets(machine, host_of, random, least);
      ASSERT_TRUE(host->migrate(moves, targets, now).ok());
      for (const Migration& move : moves) twin.leave(now, move.vm, move.keep);
      twin.tiers().resize(parts(targets).targets);
      for (const Migration& move : moves) {
        const Nanoseconds every = move.blocks_per_second > 0 ? 40 : 10;
        if (move.keep) twin.send(now, move.vm, every, move.on_demand);
      }
    }
    if (r % 300 == 150) {
      targets = random_targets(machine, host_of, random, least);
      ASSERT_TRUE(host->resize(targets).ok());
      twin.tiers().resize(parts(targets).targets);
    }
    if (r % 110 == 70) {
      for (VmId vm = 0; vm < kVms; ++vm) {
        modes[vm] = static_cast<WriteMode>(random.below(5) == 0 ? random.below(3) : 1);
        if (modes[vm] != WriteMode::kBack) twin.tiers().flush(vm);
      }
      ASSERT_TRUE(host->set_write_modes(modes).ok());
    }
    if (r % 500 == 499) {
      host->release(trace.request_vm[r]);
      twin.release(trace.request_vm[r]);
    }
    if (discards.below(4) == 0) {
      const std::vector<BlockId> blocks = testing::random_blocks(trace, discards);
      host->discard(blocks);
      for (const BlockId block : blocks) twin.discard(owners.vm_of(block), block);
    }
    const VmId vm = trace.request_vm[r];
    ASSERT_TRUE(twin.request(now, vm, trace.blocks_of(r), trace.request_op[r] != 0, modes[vm]))
        << "old data was read at request " << r;
    host->replay(trace, {r, r + 1});
    const std::vector<VmCounters> counters = host->counters();
    ASSERT_EQ(naive::counts_of(counters), twin.tiers().counts()) << "request " << r;
    for (VmId v = 0; v < kVms; ++v) {
      ASSERT_EQ(moved(counters[v]), twin.counts(v)) << "VM " << v << ", request " << r;
      ASSERT_EQ(counters[v].host, static_cast<Count>(host_of[v]));
      const absl::Status law = check_conservation(before[v], counters[v]);
      ASSERT_TRUE(law.ok()) << law;
    }
    before = counters;
    if (r % 50 == 0) {
      ASSERT_TRUE(host->check_invariants().ok()) << host->check_invariants();
    }
  }
  for (const VmCounters& of : host->counters()) {
    seen.transferred += of.transferred;
    seen.on_demand += of.on_demand;
    seen.left_behind += of.left_behind;
  }
  EXPECT_GT(seen.transferred, 100);
  EXPECT_GT(seen.on_demand, 50);
  EXPECT_GT(seen.left_behind, 100);
}

INSTANTIATE_TEST_SUITE_P(
    All, Fleets,
    ::testing::Values(Case{Chain::kExclusive, {40}, 2}, Case{Chain::kExclusive, {15, 40}, 3},
                      Case{Chain::kVictim, {9, 60}, 2}, Case{Chain::kInclusive, {9, 60}, 3},
                      Case{Chain::kIndependent, {9, 60}, 2}, Case{Chain::kVictim, {40, 9}, 2},
                      Case{Chain::kIndependent, {40, 9}, 2}));

// Law: requests replayed in any pieces leave the same counts, whatever is on the way.
TEST(FleetHost, PiecesOfTheTraceDoNotMatter) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const Accesses trace = trace_of(random_rows(2'000, 3, 40, random), 3);
    const Machine machine = fleet_of({15, 40}, 2, {{"vm1", 1}});
    const Allocation targets = all_get({5, 13}, 3);
    DataPathParams params;
    params.writes = "through, vm0=back";
    const auto whole = make(machine, trace, targets, params);
    const auto singly = make(machine, trace, targets, params);
    for (std::size_t begin = 0; begin < trace.request_count(); begin += 500) {
      const Nanoseconds now = trace.request_time[begin] - trace.request_time[0];
      const std::vector<Migration> moves{
          {.vm = 0, .host = begin % 1'000 == 0 ? 1U : 0U, .blocks_per_second = kRate / 8},
          {.vm = 1, .host = begin % 1'000 == 0 ? 0U : 1U, .on_demand = OnDemand::kAll}};
      for (const auto& host : {&whole, &singly}) {
        ASSERT_TRUE((*host)->migrate(moves, targets, now).ok());
      }
      whole->replay(trace, {begin, begin + 500});
      for (std::size_t r = begin; r < begin + 500; ++r) singly->replay(trace, {r, r + 1});
      testing::expect_same(whole->counters(), singly->counters());
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(whole->counters()[0].on_demand, 0);
    EXPECT_GT(whole->counters()[1].on_demand, 0);
    EXPECT_GT(whole->counters()[0].transferred, 0);
  }
}

// Law: without migrations, each host behaves as it does alone, filters included.
TEST(FleetHost, HostsDoNotKnowOfEachOther) {
  for (const char* filter :
       {"none", "staged(n=2,space=0.2)", "none / staged(space=0.2,mode=data)", "nth(n=2)"}) {
    Random random(3);
    const std::vector<Row> rows = random_rows(4'000, 4, 60, random);
    DataPathParams params;
    params.admission = filter;
    params.writes = "back";
    params.policy = "lru / arc";
    const Machine machine = fleet_of({8, 30}, 2, {{"vm1", 1}, {"vm3", 1}});
    const Accesses trace = trace_of(rows, 4);
    const auto together = make(machine, trace, all_get({4, 15}, 4), params);
    together->replay(trace, {0, trace.request_count()});
    for (std::size_t host = 0; host < 2; ++host) {
      std::vector<Row> of_host;
      for (const Row& row : rows) {
        if (row.vm % 2 != host) continue;
        of_host.push_back(row);
        of_host.back().vm = static_cast<VmId>(row.vm / 2);
      }
      const Accesses own = trace_of(of_host, 2);
      const auto alone = make(machine_of({8, 30}), own, all_get({4, 15}, 2), params);
      alone->replay(own, {0, own.request_count()});
      for (std::size_t vm = 0; vm < 2; ++vm) {
        VmCounters expected = alone->counters()[vm];
        expected.host = static_cast<Count>(host);
        EXPECT_EQ(testing::numbers(together->counters()[2 * vm + host]), testing::numbers(expected))
            << filter;
      }
    }
  }
}

// Blocks 1 to 4 are read, 2 is written, and the VM moves at 100: 2 is dirty and was accessed last.
class Example : public ::testing::Test {
 protected:
  void move(const std::vector<Row>& then, Migration migration = {.vm = 0, .host = 1},
            Nanoseconds at = 100) {
    std::vector<Row> rows{{0, 0, Op::kRead, 1},
                          {1, 0, Op::kRead, 2},
                          {2, 0, Op::kRead, 3},
                          {3, 0, Op::kRead, 4},
                          {4, 0, Op::kWrite, 2}};
    rows.insert(rows.end(), then.begin(), then.end());
    const Accesses trace = trace_of(rows, 1);
    const Machine machine = fleet_of({4}, 2, {});
    DataPathParams params;
    params.writes = "back";
    const auto host = make(machine, trace, all_get({4}, 1), params);
    host->replay(trace, {0, 5});
    ASSERT_TRUE(host->migrate({{migration}}, all_get({4}, 1), at).ok());
    host->replay(trace, {5, rows.size()});
    after = host->counters()[0];
    ASSERT_TRUE(host->check_invariants().ok());
  }

  VmCounters after;
};

TEST_F(Example, TheBlockAccessedLastComesFirst) {
  move({{109, 0, Op::kRead, 9}});  // 9 drives out 1, which was accessed first
  EXPECT_EQ(after.transferred, 0);
  EXPECT_EQ(after.left_behind, 1);
  EXPECT_EQ(after.on_the_way, 3);
  move({{129, 0, Op::kRead, 4}});  // 2 at 110, 4 at 120
  EXPECT_EQ(after.transferred, 2);
  EXPECT_EQ(after.misses, 4);
  EXPECT_EQ(after.tiers[0].remote_reads, 0);
  EXPECT_EQ(after.tiers[0].transfers, 2);
  EXPECT_EQ(after.on_the_way, 2);
}

// A block takes 2^62 ns, about 146 years, over so slow a link: beyond 2^63 ns in all.
TEST_F(Example, ABlockThatTakesCenturiesIsOnTheWay) {
  constexpr Nanoseconds kLate = (Nanoseconds{1} << 62) + kSecond;
  const Migration slow{.vm = 0, .host = 1, .blocks_per_second = 1e-12};
  move({{kLate + kSecond, 0, Op::kRead, 9},
        {std::numeric_limits<Nanoseconds>::max(), 0, Op::kRead, 9}},
       slow, kLate);
  EXPECT_EQ(after.transferred, 0);
  EXPECT_EQ(after.on_the_way, 3) << "9 drove out a block";
}

TEST_F(Example, ADirtyBlockIsReadOnTheOtherHost) {
  move({{105, 0, Op::kRead, 2}});
  EXPECT_EQ(after.misses, 4) << "it is a hit";
  EXPECT_EQ(after.on_demand, 1);
  EXPECT_EQ(after.tiers[0].remote_reads, 1);
  EXPECT_EQ(after.tiers[0].remote_requests, 1);
  EXPECT_EQ(after.dirty, 1);
  EXPECT_EQ(after.write_backs, 0);
}

TEST_F(Example, ACleanBlockIsReadFromTheBackendUnlessAllComeOnDemand) {
  move({{105, 0, Op::kRead, 3}});
  EXPECT_EQ(after.misses, 5);
  EXPECT_EQ(after.left_behind, 1);
  EXPECT_EQ(after.tiers[0].occupancy, 4);
  move({{105, 0, Op::kRead, 3}}, {.vm = 0, .host = 1, .on_demand = OnDemand::kAll});
  EXPECT_EQ(after.misses, 4);
  EXPECT_EQ(after.on_demand, 1);
}

TEST_F(Example, AWriteMakesWhatIsOnTheWayOutOfDate) {
  move({{105, 0, Op::kWrite, 2}});
  EXPECT_EQ(after.left_behind, 1);
  EXPECT_EQ(after.on_demand, 0);
  EXPECT_EQ(after.write_backs, 0) << "nobody needs the old data";
  EXPECT_EQ(after.dirty, 1);
  EXPECT_EQ(after.tiers[0].updates, 2);
}

TEST_F(Example, WithoutItsCacheAVmStartsCold) {
  move({{500, 0, Op::kRead, 2}}, {.vm = 0, .host = 1, .keep = false});
  EXPECT_EQ(after.sent, 0);
  EXPECT_EQ(after.misses, 5);
  EXPECT_EQ(after.write_backs, 1);
  EXPECT_EQ(after.tiers[0].occupancy, 1);
}

TEST_F(Example, ARequestWaitsForTheLinkOnlyIfItsSlowestBlockDoes) {
  move({{105, 0, Op::kRead, 2, 2}});  // 3 is clean, and read from the backend
  EXPECT_EQ(after.tiers[0].remote_reads, 1);
  EXPECT_EQ(after.tiers[0].remote_requests, 0);
}

std::unique_ptr<Host> host_that_stages(const Accesses& trace) {
  DataPathParams params;
  params.writes = "back";
  params.admission = "staged(mode=data)";
  return make(fleet_of({4}, 2, {}), trace, all_get({4}, 1), params);
}

// Staged blocks stay on the old host, where they would become stale.
TEST(FleetHost, WhatIsStagedStaysBehind) {
  const Accesses trace = trace_of({{0, 0, Op::kRead, 1},
                                   {1, 0, Op::kRead, 2},
                                   {2, 0, Op::kRead, 2},
                                   {3, 0, Op::kWrite, 2},  // dirty
                                   {200, 0, Op::kRead, 1},
                                   {201, 0, Op::kRead, 2},
                                   {400, 0, Op::kRead, 1}},
                                  1);
  const auto host = host_that_stages(trace);
  host->replay(trace, {0, 4});
  EXPECT_EQ(host->counters()[0].staged_hits, 1);
  ASSERT_TRUE(host->migrate({{{.vm = 0, .host = 1}}}, all_get({4}, 1), 100).ok());
  host->replay(trace, {4, 6});
  EXPECT_EQ(host->counters()[0].staged_hits, 1);
  EXPECT_EQ(host->counters()[0].misses, 3) << "of 1, which is staged on the new host now";
  ASSERT_TRUE(host->migrate({{{.vm = 0, .host = 0}}}, all_get({4}, 1), 300).ok());
  host->replay(trace, {6, 7});
  EXPECT_EQ(host->counters()[0].staged_hits, 1);
  EXPECT_EQ(host->counters()[0].misses, 4);
}

// A request of blocks 1 and 2: one is read over the link, the other from memory.
TEST(FleetHost, ARequestOfWhatIsStagedWaitsForTheLink) {
  const Accesses trace = trace_of({{0, 0, Op::kRead, 2},
                                   {1, 0, Op::kWrite, 2},  // dirty
                                   {105, 0, Op::kRead, 1},
                                   {106, 0, Op::kRead, 1, 2}},
                                  1);
  const auto host = host_that_stages(trace);
  host->replay(trace, {0, 2});
  ASSERT_TRUE(host->migrate({{{.vm = 0, .host = 1}}}, all_get({4}, 1), 100).ok());
  host->replay(trace, {2, 4});
  const VmCounters counts = host->counters()[0];
  EXPECT_EQ(counts.staged_hits, 1);
  EXPECT_EQ(counts.tiers[0].remote_reads, 1);
  EXPECT_EQ(counts.tiers[0].remote_requests, 1);
  EXPECT_EQ(counts.reads_served.requests[0], 1);
}

TEST(FleetHost, MistakesAreNamed) {
  const Accesses trace = trace_of({{0, 0, Op::kRead, 1}, {1, 1, Op::kRead, 1}}, 2);
  const Machine machine = fleet_of({4}, 2, {{"vm1", 1}});
  Allocation targets(1, 2);
  targets.at(0, 0) = targets.at(0, 1) = 3;
  const auto host = make(machine, trace, targets, {});
  const auto refused = [&](const Migration& migration, const Allocation& to) {
    return message_of(host->migrate({{migration}}, to, 0));
  };
  EXPECT_EQ(refused({.vm = 0, .host = 1}, targets),
            "host h1: targets: tier 0 grants 6 blocks of 4");
  EXPECT_EQ(refused({.vm = 0, .host = 0}, targets), "migrations: vm0 is on host h0 already");
  EXPECT_EQ(refused({.vm = 0, .host = 2}, targets), "migrations: VM 0 of 2 to host 2 of 2");
  EXPECT_EQ(refused({.vm = 0, .host = 1, .blocks_per_second = 2e8}, targets),
            "migrations: vm0: 200000000 blocks per second exceed the 100000000 of the link");
  EXPECT_EQ(host->counters()[0].host, 0);
  targets.at(0, 0) = 5;
  EXPECT_EQ(message_of(host->resize(targets)), "host h0: targets: tier 0 grants 5 blocks of 4");
  EXPECT_EQ(message_of(make_data_path({}, machine, trace, parts(targets), 1).status()),
            "host h0: targets: tier 0 grants 5 blocks of 4");
  EXPECT_EQ(message_of(host->resize(Allocation(2, 2))),
            "host h0: targets: expected 1 tiers x 2 VMs, got 2 x 2");
  const auto alone = make(machine_of({8}), trace, Allocation(1, 2), {});
  EXPECT_EQ(message_of(alone->migrate({{Migration{.vm = 0, .host = 1}}}, targets, 0)),
            "there is no other host to move VMs to");
}

}  // namespace
}  // namespace mcsim
