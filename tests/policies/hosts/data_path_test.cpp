// Trusts: TieredHost under the policy lru, for the hosts made for LRU.
#include "policies/hosts/data_path.hpp"

#include <gtest/gtest.h>

#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

// Parts of fixed targets that sum to less than the tiers have.
void expect_same_with_space_left(DataPathParams params, std::vector<std::vector<Count>> targets,
                                 ResizeMode mode) {
  const Accesses trace = testing::random_trace(2'000, 2, 60, 7);
  const Machine machine = testing::machine_of({30, 50});
  Division division = shared_by_all(machine, trace);
  if (targets[0].size() > 1) division.part_of = {0, 1};
  division.targets = std::move(targets);
  division.rules.mode = mode;
  const auto ours = make_data_path(params, machine, trace, division, 1).value();
  const auto theirs = make_tiered_host(params, machine, trace, division, 1).value();
  ours->replay(trace, trace.all());
  theirs->replay(trace, trace.all());
  testing::expect_same(ours->counters(), theirs->counters());
  EXPECT_TRUE(ours->check_invariants().ok()) << ours->check_invariants();
}

TEST(DataPath, GivesOnePartNoMoreThanItsTargets) {
  expect_same_with_space_left({}, {{10}, {20}}, ResizeMode::kEager);
}

TEST(DataPath, HasLogsForAllThatFixedPartsMayBorrow) {
  DataPathParams params;
  for (const auto& [name, chain] : Choices<Chain>::names) {
    SCOPED_TRACE(name);
    params.chain = chain;
    expect_same_with_space_left(params, {{2, 1}, {3, 1}}, ResizeMode::kLazy);
    expect_same_with_space_left(params, {{2, 1}, {3, 1}}, ResizeMode::kStrictOwn);
  }
}

}  // namespace
}  // namespace mcsim
