// Trusts: hosts that replay a whole trace, by their own tests. One that continues from the state of
// another is the same in every counter, and is saved as the same bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/hosts/classed_host.hpp"
#include "core/engine/hosts/placed_host.hpp"
#include "core/engine/hosts/tiered_host.hpp"
#include "core/engine/policy/policy_cache.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/background_policy.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/states.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::decide_at_random;
using testing::expect_loads;
using testing::expect_same;
using testing::machine_of;
using testing::random_trace;
using testing::with_writes;

using MakeHost = std::function<std::unique_ptr<Host>()>;
// Changes a host before a step of a replay; the same for the same step.
using Change = std::function<void(Host&, std::uint64_t step)>;

constexpr std::size_t kStep = 300;

void replay(Host& host, const Accesses& trace, RequestRange steps, const Change& change) {
  for (std::size_t step = steps.begin; step < steps.end; ++step) {
    change(host, step);
    host.replay(trace, {step * kStep, (step + 1) * kStep});
  }
}

void expect_continues(const MakeHost& make, const Accesses& trace, const Change& change) {
  const std::size_t steps = trace.request_count() / kStep;
  const auto whole = make();
  const auto continued = make();
  replay(*whole, trace, {0, steps / 2}, change);
  expect_loads(*whole, *continued);
  expect_same(continued->counters(), whole->counters());
  for (std::size_t step = steps / 2; step < steps; ++step) {
    replay(*whole, trace, {step, step + 1}, change);
    replay(*continued, trace, {step, step + 1}, change);
    expect_same(continued->counters(), whole->counters());
    if (::testing::Test::HasFatalFailure()) FAIL() << "in step " << step;
  }
  EXPECT_EQ(testing::saved(*continued), testing::saved(*whole));
}

// Parameters of a data path.
struct Path {
  std::string policy = "lru";
  Chain chain = Chain::kExclusive;
  std::string writes = "through";
  std::string admission = "none";
  double dirty_limit = 1;
  Nanoseconds flush_every = 0;
  bool delayed_hits = false;
};

void PrintTo(const Path& path, std::ostream* out) {
  *out << path.policy << ", " << name_of(path.chain) << ", " << path.writes << ", "
       << path.admission << ", " << path.dirty_limit << ", " << path.flush_every << ", "
       << path.delayed_hits;
}

class Saved : public ::testing::TestWithParam<Path> {
 protected:
  static constexpr VmId kVms = 3;

  static DataPathParams params() {
    const Path& path = GetParam();
    DataPathParams params;
    params.policy = path.policy;
    params.chain = path.chain;
    params.writes = path.writes;
    params.admission = path.admission;
    params.dirty_limit = path.dirty_limit;
    params.flush_every = {path.flush_every};
    return params;
  }
  static void expect(const Division& division, bool made_for_lru) {
    MakeHost make = [&] {
      const auto make_any = made_for_lru ? make_data_path : make_tiered_host;
      auto host = make_any(params(), machine(), trace(), division, 1);
      EXPECT_TRUE(host.ok()) << host.status();
      return *std::move(host);
    };
    expect_continues(make, trace(), [&](Host& host, std::uint64_t step) {
      decide_at_random(host, machine(), trace(), division.changeable, step);
    });
    expect_continues(make, trace(), [](Host&, std::uint64_t) {});
  }
  static Machine machine() {
    Machine made = machine_of({20, 70});
    if (!GetParam().delayed_hits) return made;
    for (TierSpec& tier : made.tiers) tier.delayed_hits = true;
    made.tiers[1].device.read_ns = 100;
    made.backend.read_ns = 400;
    return made;
  }
  static const Accesses& trace() {
    static const Accesses made = with_writes(random_trace(9'000, kVms, 80, 3), 5);
    return made;
  }
};

TEST_P(Saved, SharedHostsContinue) {
  expect(shared_by_all(machine(), trace()), false);
  expect(shared_by_all(machine(), trace()), true);
}

TEST_P(Saved, DividedHostsContinue) {
  Random random(4);
  const Allocation targets = testing::random_targets(machine(), kVms, random, 1);
  for (const ResizeMode mode : {ResizeMode::kEager, ResizeMode::kLazy}) {
    expect(one_part_each(targets, {.mode = mode}), false);
    expect(one_part_each(targets, {.mode = mode}), true);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Hosts, Saved,
    ::testing::Values(Path{}, Path{.writes = "back"}, Path{.writes = "around"},
                      Path{.writes = "back", .dirty_limit = 0.2},
                      Path{.writes = "back", .flush_every = 500},
                      Path{.chain = Chain::kInclusive, .writes = "back"},
                      Path{.chain = Chain::kVictim, .writes = "back", .dirty_limit = 0.3},
                      Path{.chain = Chain::kIndependent, .writes = "through/back"},
                      Path{.policy = "arc", .writes = "back"}, Path{.policy = "random/lecar"},
                      Path{.policy = "s3-fifo", .chain = Chain::kInclusive, .writes = "back"},
                      Path{.policy = "perfect-lfu", .writes = "back", .flush_every = 700},
                      Path{.policy = "w-tinylfu", .chain = Chain::kVictim},
                      Path{.admission = "nth(n=2)"}, Path{.admission = "probability(p=0.4)"},
                      Path{.admission = "bloom(window=30)"}, Path{.admission = "tinylfu"},
                      Path{.writes = "back", .admission = "staged(mode=data)"},
                      Path{.admission = "size(most=1)/staged"}, Path{.delayed_hits = true},
                      Path{.policy = "arc", .writes = "back", .delayed_hits = true}));

TEST(SavedHosts, FleetsContinueDuringMigrations) {
  constexpr VmId kVms = 3;
  const Accesses trace = with_writes(random_trace(9'000, kVms, 80, 6), 7);
  Machine machine = machine_of({20, 70});
  machine.fleet = {.hosts = {"h0", "h1"},
                   .host_of_vm = {{"vm1", 1}},
                   .link = {.latency_ns = 1000, .blocks_per_second = 1e8}};
  Allocation targets(2, kVms);
  for (std::size_t vm = 0; vm < kVms; ++vm) {
    targets.at(0, vm) = 6;
    targets.at(1, vm) = 20;
  }
  DataPathParams params;
  params.writes = "back";
  params.admission = "nth";
  const MakeHost make = [&] {
    const Division parts = one_part_each(targets, {.mode = ResizeMode::kEager});
    return make_data_path(params, machine, trace, parts, 1).value();
  };
  expect_continues(make, trace, [&](Host& host, std::uint64_t step) {
    const auto now = trace.request_time[step * kStep] - trace.request_time[0];
    const Migration move{.vm = VmId(step % kVms), .host = step / kVms % 2};
    const auto current = host.counters()[move.vm].host;
    if (current == static_cast<Count>(move.host)) return;
    const absl::Status moved = host.migrate({&move, 1}, targets, now);
    ASSERT_TRUE(moved.ok()) << moved;
  });
}

TEST(SavedHosts, OfClassesContinue) {
  const Accesses trace = with_writes(random_trace(9'000, 2, 80, 8), 9);
  const Machine machine = machine_of({10, 50});
  const MakeHost make = [&] {
    return std::make_unique<ClassedHost>(
        machine, trace, 2, [](const Accesses& of, std::size_t r) { return of.ids[r] % 4; });
  };
  expect_continues(make, trace, [&](Host& host, std::uint64_t step) {
    Random random(step);
    host.discard(testing::random_blocks(trace, random));
  });
}

TEST(SavedHosts, OfExtentsContinue) {
  const Accesses trace = with_writes(random_trace(9'000, 2, 80, 8), 9);
  const Machine machine = machine_of({10, 50});
  const MakeHost make = [&] {
    return std::make_unique<PlacedHost>(
        machine, trace, [](const ExtentAccess&) {}, WriteArea{.blocks = 5, .most_dirty = 3});
  };
  expect_continues(make, trace, [&](Host& host, std::uint64_t step) {
    const Placement move{.extent = step, .tier = step / 3 % 3};
    if (step > 6) return;
    const absl::Status placed = host.place({&move, 1});
    ASSERT_TRUE(placed.ok()) << placed;
  });
}

// The time of the next tick is a part of the state.
TEST(SavedHosts, OfPoliciesWithClocksContinue) {
  const Accesses trace = with_writes(random_trace(9'000, 2, 80, 8), 9);
  const MakeHost make = [&] {
    TieredSetup setup{.tiers = {},
                      .table = std::make_shared<SlotTable>(trace.id_count(), 1),
                      .part_of = std::vector<std::size_t>(trace.vms.size(), 0),
                      .writes = {.modes = std::vector(trace.vms.size(), WriteMode::kBack)}};
    std::vector<Tier::Part> parts(1);
    parts[0].target = 20;
    parts[0].cache = std::make_unique<PolicyCacheOf<testing::BackgroundFifo>>(
        NoParams{}, PolicySetup{.capacity = 20, .blocks = trace.id_count(), .table = setup.table});
    setup.tiers.emplace_back(20, std::move(parts), DivisionRules{.mode = ResizeMode::kEager},
                             nullptr);
    return TieredHost::make(std::move(setup), trace).value();
  };
  expect_continues(make, trace, [](Host&, std::uint64_t) {});
}

// --- Wrong states ---------------------------------------------------------------

std::unique_ptr<Host> host_of(const Machine& machine, const Accesses& trace,
                              const DataPathParams& params) {
  return make_data_path(params, machine, trace, shared_by_all(machine, trace), 1).value();
}

TEST(SavedHosts, RefuseStatesOfOtherHosts) {
  const Accesses trace = random_trace(900, 2, 80, 8);
  const Machine machine = machine_of({10, 50});
  DataPathParams lru;
  DataPathParams arc;
  arc.policy = "arc";
  const auto host = host_of(machine, trace, lru);
  host->replay(trace, {0, trace.request_count()});
  const std::vector<std::byte> state = testing::saved(*host);
  EXPECT_EQ(testing::load(*host_of(machine_of({10, 51}), trace, lru), state).message(),
            "the state is one of 10 + 50 and 2 VMs, not of 10 + 51 and 2");
  const std::vector<std::byte> of_arc = testing::saved(*host_of(machine, trace, arc));
  EXPECT_EQ(testing::load(*host_of(machine_of({10, 51}), trace, arc), of_arc).message(),
            "tier 1: the state is one of 50 blocks in 1 parts, not of 51 in 1");
  DataPathParams car;
  car.policy = "car";
  EXPECT_EQ(testing::load(*host_of(machine, trace, car), of_arc).message(),
            "tier 0: the state is one of arc(ghosts=paper, step=real), not of car");
  arc.admission = "nth";
  EXPECT_EQ(testing::load(*host_of(machine, trace, arc), of_arc).message(),
            "tier 0: the state is one of another policy or admission filter");
  DataPathParams opt;
  opt.policy = "opt";
  ArchiveWriter to;
  EXPECT_EQ(host_of(machine, trace, opt)->save(to).message(),
            "tier 0: opt uses the future, so its state cannot be saved");
}

// Whatever byte is another one, loading ends with a host or an error.
TEST(SavedHosts, SurviveDamagedStates) {
  const Accesses trace = with_writes(random_trace(900, 2, 40, 8), 2);
  const Machine machine = machine_of({5, 20});
  for (const char* policy : {"lru", "lfu", "s3-fifo"}) {
    for (const Chain chain : {Chain::kExclusive, Chain::kVictim}) {
      DataPathParams params;
      params.policy = policy;
      params.chain = chain;
      params.writes = "back";
      params.admission = "none/staged";
      const auto host = host_of(machine, trace, params);
      host->replay(trace, {0, trace.request_count()});
      const std::vector<std::byte> state = testing::saved(*host);
      for (std::size_t size = 0; size < state.size(); size += 1 + size / 30) {
        EXPECT_FALSE(
            testing::load(*host_of(machine, trace, params), std::span(state).first(size)).ok());
      }
    }
  }
}

}  // namespace
}  // namespace mcsim
