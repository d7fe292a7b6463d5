// Trusts: TieredHost over caches of the policy `lru`, one by one, for the same tiers in
// PartitionedLru, with a probe and without.
#include <gtest/gtest.h>

#include "core/engine/hosts/tiered_host.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::decide_at_random;
using testing::random_targets;

constexpr VmId kVms = 3;

Accesses trace_of(std::uint64_t seed) {
  return testing::with_writes(testing::random_trace(3'000, kVms, 80, seed), seed + 1, 0.5);
}

void expect_same(const Host& ours, const Host& theirs) {
  testing::expect_same(ours.counters(), theirs.counters());
  ASSERT_TRUE(ours.check_invariants().ok()) << ours.check_invariants();
}

void expect_same_at_random(const DataPathParams& params, const Machine& machine,
                           const Division& division, std::uint64_t seed) {
  const Accesses trace = trace_of(seed);
  const auto ours = make_data_path(params, machine, trace, division, 1).value();
  const auto theirs = make_tiered_host(params, machine, trace, division, 1).value();
  const bool has_probe = seed % 2 == 0;
  CacheProbe of_ours(trace);
  CacheProbe of_theirs(trace);
  if (has_probe) {
    ASSERT_TRUE(ours->attach({.probe = &of_ours}).ok() &&
                theirs->attach({.probe = &of_theirs}).ok());
  }
  for (std::size_t r = 0; r < trace.request_count(); r += 20) {
    SCOPED_TRACE(fmt::format("request {}", r));
    decide_at_random(*ours, machine, trace, division.changeable, seed + r);
    decide_at_random(*theirs, machine, trace, division.changeable, seed + r);
    const RequestRange next{r, std::min(r + 20, trace.request_count())};
    ours->replay(trace, next);
    theirs->replay(trace, next);
    expect_same(*ours, *theirs);
    if (has_probe) testing::expect_same(of_ours, of_theirs);
    if (r % 60 == 0) {
      of_ours.begin_window();
      of_theirs.begin_window();
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
}

struct Way {
  Chain chain;
  DivisionRules rules;
};

class LruCopies : public ::testing::TestWithParam<Way> {};

TEST_P(LruCopies, AreWhatThePolicyMakesOfThemWhateverHappens) {
  const auto& [chain, rules] = GetParam();
  std::uint64_t seed = 100;
  for (const std::vector<Count>& capacities : {std::vector<Count>{12, 40},
                                               {30},
                                               {6, 14, 50},
                                               {6, 0, 20},
                                               {0, 15},
                                               {4, 8, 15, 40},
                                               {3, 5, 8, 12, 30}}) {
    Machine machine;
    for (const Count blocks : capacities) machine.tiers.push_back({{}, blocks});
    for (int variant = 0; variant < 20; ++variant) {
      SCOPED_TRACE(fmt::format("{} tiers, variant {}", capacities.size(), variant));
      DataPathParams params;
      params.chain = chain;
      params.writes = "back";
      if (variant % 4 == 1) params.dirty_limit = 0.2;
      if (variant % 4 == 2) params.flush_every = {300};
      if (variant % 4 == 3) params.update_around = true;
      Random random(++seed);
      const Allocation targets = random_targets(machine, kVms, random);
      expect_same_at_random(params, machine, one_part_each(targets, rules), seed);
      expect_same_at_random(params, machine, shared_by_all(machine, trace_of(seed)), seed);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LruCopies,
                         ::testing::Values(Way{Chain::kVictim, {ResizeMode::kEager}},
                                           Way{Chain::kInclusive, {ResizeMode::kEager}},
                                           Way{Chain::kIndependent, {ResizeMode::kEager}},
                                           Way{Chain::kVictim, {ResizeMode::kLazy}},
                                           Way{Chain::kInclusive,
                                               {ResizeMode::kLazy, VictimRule::kFirstOver}},
                                           Way{Chain::kIndependent, {ResizeMode::kStrictOwn}}),
                         [](const auto& way) { return fmt::format("n{}", way.index); });

}  // namespace
}  // namespace mcsim
