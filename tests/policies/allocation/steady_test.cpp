// Trusts: workloads of loops, with a known best division.
#include "policies/allocation/steady.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/engine/run/run.hpp"
#include "optimizers/registry.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_trace;

constexpr Nanoseconds kInterval = 200;

std::shared_ptr<Optimizer> exact() { return optimizer_registry().make("exact", {}, {}).value(); }

RunResult run_steady(const Accesses& trace, const Machine& machine,
                     const Steady::Params& params = {}) {
  auto system = Steady::make(params, {.machine = machine, .interval = kInterval}).value();
  EXPECT_TRUE(system->use_optimizer(exact()).ok());
  const auto measured = characterise(trace, meter_specs(*system));
  EXPECT_TRUE(measured.ok()) << measured.status();
  auto result = run(trace, *system, *measured, aligned_cuts(trace.request_time, kInterval));
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

// Two VMs that change places every six intervals, and one with a loop that never fits.
Accesses changing() {
  std::vector<VmId> vm;
  std::vector<std::uint64_t> block;
  for (std::uint64_t i = 0; i < 12'000; ++i) {
    const std::uint64_t turn = i / (6 * kInterval) % 2;
    vm.push_back(static_cast<VmId>(i % 4 == 0 ? 2 : turn));
    block.push_back(i % 4 == 0 ? i % 997 : i % 31);
  }
  return testing::trace_of(vm, block);
}

TEST(Steady, GivesSpaceToWhoeverLoopsAndNoneToWhatNeverFits) {
  const RunResult result = run_steady(changing(), machine_of({36}));
  const auto& late = result.intervals[5];
  EXPECT_GE(late[0].tiers[0].target, 31);
  const auto& swapped = result.intervals[11];
  EXPECT_GE(swapped[1].tiers[0].target, 31);
}

TEST(Steady, StandsStillWhereNothingChanges) {
  std::vector<VmId> vm;
  std::vector<std::uint64_t> block;
  for (std::uint64_t i = 0; i < 8'000; ++i) {
    vm.push_back(static_cast<VmId>(i % 2));
    block.push_back(i % 2 == 0 ? i / 2 % 20 : i / 2 % 300);
  }
  const RunResult result = run_steady(testing::trace_of(vm, block), machine_of({5, 20}));
  const Allocation& chosen = *result.decisions[0].decision.targets;
  EXPECT_GE(chosen.at(0, 0) + chosen.at(1, 0), 20);
  for (std::size_t i = 1; i < result.decisions.size(); ++i) {
    EXPECT_FALSE(result.decisions[i].decision.targets) << i;
    EXPECT_EQ(result.decisions[i].targets, chosen);
  }
}

TEST(Steady, NeedsAnOptimizer) {
  auto system = Steady::make({}, {.machine = machine_of({4})}).value();
  EXPECT_EQ(message_of(system->make_host(random_trace(10, 1, 3, 1)).status()),
            "steady: needs an optimizer");
}

}  // namespace
}  // namespace mcsim
