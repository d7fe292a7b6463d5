// Trusts: the lists that meters keep for TieredHost, which are those of lists of blocks cut by hand
// (host_meters_test).
#include "core/engine/stack_meters.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/exclusive_lru.hpp"
#include "core/engine/host_meters.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_trace;
using testing::single_vm;

constexpr VmId kVms = 3;
constexpr std::uint64_t kBlocks = 60;

Accesses mixed_trace(std::uint64_t seed) {
  return testing::with_writes(random_trace(6'000, kVms, kBlocks, seed), seed, 0.25);
}

// Also tiers without room.
Machine random_machine(Random& random, std::size_t tiers) {
  std::vector<Count> capacities;
  for (std::size_t k = 0; k < tiers; ++k) {
    capacities.push_back(static_cast<Count>(random.below(k == 0 ? 30 : 60)));
  }
  return machine_of(capacities);
}

// Also for VMs that get none.
Allocation random_targets(Random& random, const Machine& machine) {
  std::vector<double> weights(kVms);
  for (double& weight : weights) weight = static_cast<double>(random.below(4));
  return proportional(machine, weights);
}

// A host that knows by itself, and one for which meters keep lists.
struct Two {
  Two(const Accesses& trace, const Machine& machine, const Division& division, HostMeterSpec spec)
      : of_stacks(trace, spec, machine.tiers.size()), of_lists(trace, spec, machine.tiers.size()) {
    DataPathParams params;
    params.writes = "through, " + trace.vms[0].name + "=around, " + trace.vms[1].name + "=back";
    stacks = make_data_path(params, machine, trace, division, 1).value();
    lists = make_tiered_host(params, machine, trace, division, 1).value();
    EXPECT_TRUE(stacks->attach(of_stacks).ok() && lists->attach(of_lists).ok());
  }

  void expect_equal() {
    testing::expect_same(of_stacks, of_lists);
    ASSERT_TRUE(stacks->check_invariants().ok()) << stacks->check_invariants();
  }

  HostMeters of_stacks;
  HostMeters of_lists;
  std::unique_ptr<Host> stacks;
  std::unique_ptr<Host> lists;
};

// What may be done to a host between requests.
void change(Two& two, Random& random, const Machine& machine, bool divided) {
  const auto both = [&](auto change) {
    const absl::Status status = change(*two.stacks);
    EXPECT_EQ(status, change(*two.lists));
    EXPECT_TRUE(status.ok()) << status;
  };
  switch (random.below(5)) {
    case 0:
      if (!divided) return;
      return both(
          [targets = random_targets(random, machine)](Host& host) { return host.resize(targets); });
    case 1: {
      const auto vm = VmId(random.below(kVms));
      two.stacks->release(vm);
      return two.lists->release(vm);
    }
    case 2: {
      const std::vector<bool> admits{random.below(2) == 0, true, random.below(2) == 0};
      return both([&](Host& host) { return host.set_admission(admits); });
    }
    case 3:
      two.of_stacks.begin_window();
      return two.of_lists.begin_window();
    default:
      return;
  }
}

void expect_equal(std::optional<ResizeMode> mode, std::size_t tiers, std::uint64_t seed) {
  SCOPED_TRACE(
      fmt::format("mode {}, {} tiers, seed {}", mode ? static_cast<int>(*mode) : -1, tiers, seed));
  Random random(100 * seed + tiers);
  const Accesses trace = mixed_trace(seed);
  const Machine machine = random_machine(random, tiers);
  // Numbers of evictions are used up after 128 at least, and 384 at most.
  constexpr std::array<Count, 4> kGhosts{0, 1, 7, 300};
  constexpr std::array<Count, 5> kTails{0, 1, 4, 30, 1'000};
  const HostMeterSpec spec{.ghosts = kGhosts[random.below(kGhosts.size())],
                           .tail = kTails[random.below(kTails.size())],
                           .by = random.below(2) == 0 ? MeteredBy::kVm : MeteredBy::kTier};
  Two two(trace, machine,
          mode ? one_part_each(random_targets(random, machine), {.mode = *mode})
               : shared_by_all(machine, trace),
          spec);
  for (std::size_t r = 0; r < trace.request_count();) {
    const std::size_t until = std::min(r + 1 + random.below(120), trace.request_count());
    two.stacks->replay(trace, {r, until});
    two.lists->replay(trace, {r, until});
    two.expect_equal();
    change(two, random, machine, mode.has_value());
    two.expect_equal();
    if (::testing::Test::HasFailure()) return;
    r = until;
  }
}

TEST(StackMeters, AreThoseOfListsWhateverIsDoneToAHost) {
  const std::vector<std::optional<ResizeMode>> modes{std::nullopt, ResizeMode::kEager,
                                                     ResizeMode::kLazy, ResizeMode::kStrictOwn};
  for (const std::optional<ResizeMode>& mode : modes) {
    // Of more than four meters keep lists in any host.
    for (const std::size_t tiers : {1, 2, 3, 4, 5, 8}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        expect_equal(mode, tiers, seed);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

// A loop over one block more than there is room for: every miss is of what was evicted last, for as
// long as numbers last and after that.
TEST(StackMeters, GhostsAreKnownAfterNumbersBeganAgain) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 0; i < 5'000; ++i) blocks.push_back(i % 11);
  const Accesses trace = single_vm(blocks);
  const auto host = make_shared_lru(machine_of({4, 6}), trace).value();
  HostMeters meters(trace, {.ghosts = 1}, 2);
  ASSERT_TRUE(host->attach(meters).ok());
  host->replay(trace, trace.all());
  EXPECT_EQ(meters.readings()[0].ghost_hits, 5'000 - 11);
}

}  // namespace
}  // namespace mcsim
