// Trusts: naive::Tiers; the conservation laws that run() itself enforces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/engine/run/run.hpp"
#include "policies/allocation/all.hpp"
#include "tests/support/naive_tiers.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::make;
using testing::random_trace;
using testing::replay;
using testing::run_once;
using testing::small_machine_for;

// Hits of a VM in a tier over the whole run.
Count hits(const RunResult& result, std::size_t vm, std::size_t tier) {
  Count sum = 0;
  for (const auto& interval : result.intervals) sum += interval[vm].tiers[tier].hits;
  return sum;
}

TEST(Systems, EveryOneRunsAndIntervalsSumToTheTrace) {
  const Accesses trace = random_trace(6'000, 3, 200, 1);
  std::set<std::string> names;
  for (const auto& entry : system_registry().entries()) {
    EXPECT_TRUE(names.insert(entry.info.name).second) << entry.info.name;
    SCOPED_TRACE(entry.info.name);
    const RunResult result = replay(entry.info.name, {}, small_machine_for(entry.info.name), trace);
    for (std::size_t v = 0; v < 3; ++v) {
      Count accesses = 0;
      for (const auto& interval : result.intervals) accesses += interval[v].accesses;
      EXPECT_EQ(accesses, trace.vms[v].accesses);
    }
  }
}

TEST(Systems, TheHostOfEachIsAsItSaysAndCanDoWhatItDecides) {
  const Accesses trace = random_trace(600, 3, 200, 1);
  for (const auto& entry : system_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    const auto system = make(entry.info.name, {}, small_machine_for(entry.info.name));
    EXPECT_TRUE(check_actions(*system).ok()) << check_actions(*system);
    const auto host = system->make_host(trace);
    ASSERT_TRUE(host.ok()) << host.status();
    if (system->actions() == Actions()) continue;
    EXPECT_EQ(names_of((*host)->supports()), names_of(system->host_supports()));
  }
}

TEST(Systems, RunsAreRepeatable) {
  const Accesses trace = random_trace(6'000, 3, 200, 1);
  for (const auto& entry : system_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    const auto once = replay(entry.info.name, {}, small_machine_for(entry.info.name), trace);
    const auto again = replay(entry.info.name, {}, small_machine_for(entry.info.name), trace);
    ASSERT_EQ(once.decisions.size(), again.decisions.size());
    for (std::size_t i = 0; i < once.decisions.size(); ++i) {
      EXPECT_EQ(once.decisions[i].targets, again.decisions[i].targets);
    }
    for (std::size_t v = 0; v < 3; ++v) EXPECT_EQ(hits(once, v, 0), hits(again, v, 0));
  }
}

TEST(Systems, WhatComesBeforeTheFirstCutIsReplayedAndNotCounted) {
  const Accesses trace = random_trace(6'000, 3, 200, 9);
  const Cuts all = aligned_cuts(trace.request_time, 1'000);
  const Cuts later(all.begin() + 2, all.end());
  for (const auto& entry : system_registry().entries()) {
    SCOPED_TRACE(entry.info.name);
    const RunResult whole =
        run_once(trace, *make(entry.info.name, {}, small_machine_for(entry.info.name)), all);
    const RunResult rest =
        run_once(trace, *make(entry.info.name, {}, small_machine_for(entry.info.name)), later);
    ASSERT_EQ(rest.intervals.size(), whole.intervals.size() - 2);
    for (std::size_t i = 0; i < rest.intervals.size(); ++i) {
      for (std::size_t vm = 0; vm < 3; ++vm) {
        const VmCounters& ours = rest.intervals[i][vm];
        const VmCounters& theirs = whole.intervals[i + 2][vm];
        EXPECT_EQ(ours.accesses, theirs.accesses);
        for (std::size_t k = 0; k < ours.tiers.size(); ++k) {
          EXPECT_EQ(ours.tiers[k].hits, theirs.tiers[k].hits);
          EXPECT_EQ(ours.tiers[k].demotions, theirs.tiers[k].demotions);
          EXPECT_EQ(ours.tiers[k].target, theirs.tiers[k].target);
        }
      }
    }
    const auto first = std::ranges::find_if(
        whole.decisions, [&](const DecisionRecord& d) { return d.request >= later.front(); });
    ASSERT_EQ(rest.decisions.size(), static_cast<std::size_t>(whole.decisions.end() - first));
    for (std::size_t i = 0; i < rest.decisions.size(); ++i) {
      EXPECT_EQ(rest.decisions[i].request, (first + static_cast<std::ptrdiff_t>(i))->request);
    }
  }
}

// Warmed up by a trace of its own, a host counts what the twin counts after it.
TEST(Hierarchy, WarmedUpCountsWhatTheTwinCountsFromThenOn) {
  const Accesses trace = testing::with_warm_up(2, 700, 17);
  ASSERT_EQ(trace.warm_up, 1'400U);
  const ParamMap params{{"policy", std::string("lru()")}, {"writes", std::string("back")}};
  const auto system = make("hierarchy", params, machine_of({9, 25}));
  const RunResult result = run_once(trace, *system, {trace.warm_up, trace.request_count()});

  naive::Tiers twin(Chain::kExclusive, {{9}, {25}});
  naive::Tiers::Counts before;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (r == trace.warm_up) before = twin.counts();
    if (trace.request_op[r] != 0) {
      twin.write(0, trace.ids[r], WriteMode::kBack);
    } else {
      ASSERT_TRUE(twin.read(0, trace.ids[r]));
    }
  }
  const naive::Tiers::Counts& all = twin.counts();
  ASSERT_EQ(result.intervals.size(), 1U);
  const std::vector<VmCounters>& vms = result.intervals[0];
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(vms[0].tiers[k].hits + vms[1].tiers[k].hits, all.hits[k] - before.hits[k]);
    EXPECT_EQ(vms[0].tiers[k].device_writes() + vms[1].tiers[k].device_writes(),
              all.writes[k] - before.writes[k]);
  }
  EXPECT_EQ(vms[0].accesses + vms[1].accesses, 1'400);
  EXPECT_EQ(vms[0].backend_reads + vms[1].backend_reads, all.backend_reads - before.backend_reads);
  EXPECT_EQ(vms[0].backend_writes + vms[1].backend_writes,
            all.backend_writes - before.backend_writes);
}

TEST(GlobalLru, LegacyHasTwoTiers) {
  const Accesses trace = random_trace(10, 2, 5, 5);
  const auto three = system_registry().make("lru", {{"legacy", true}}, {machine_of({1, 1, 1})});
  EXPECT_EQ(message_of((*three)->make_host(trace).status()),
            "legacy: the authors' code has exactly 2 tiers, got 3");
}

TEST(GlobalLru, LegacyWritesThrough) {
  const ParamMap back{{"legacy", true}, {"writes", std::string("back")}};
  EXPECT_EQ(message_of(system_registry().make("lru", back, {machine_of({1, 1})}).status()),
            "lru: writes: the authors' baseline (legacy) writes through, got 'back'");
}

TEST(Systems, MistakesAreNamed) {
  EXPECT_EQ(message_of(system_registry().make("multicahe", {}, {}).status()),
            "unknown system 'multicahe' (did you mean 'multicache'?)");
  EXPECT_EQ(message_of(system_registry().make("multicache", {{"ri_mod", true}}, {}).status()),
            "multicache: unknown parameter 'ri_mod' (did you mean 'ri_mode'?)");
  EXPECT_FALSE(make("static", {}, machine_of({4}))->use_optimizer(nullptr).ok());
}

}  // namespace
}  // namespace mcsim
