// Trusts: the LRU structure, where there is but one class.
#include "policies/allocation/dss.hpp"

#include <gtest/gtest.h>

#include "core/engine/run/run.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "policies/allocation/all.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;

// Requests of one to 32 blocks, a third of them writes, of three VMs, with classes by chance, and
// discards. The first VM departs after half of the time.
Accesses classed_trace(std::uint64_t seed) {
  Random random(seed);
  Random chance(seed + 1000);
  AccessBuilder builder({.ops = OpFilter::kAll, .classes = true}, TimeBase::kClock);
  for (const char* name : {"a", "b", "c"}) {
    Requests requests;
    const Nanoseconds end = name[0] == 'a' ? 1'000 : 2'000;
    for (Nanoseconds at = 0; at < end; ++at) {
      const Op op = random.below(3) == 0 ? Op::kWrite : Op::kRead;
      const auto blocks = static_cast<std::uint32_t>(1U << random.below(6));
      const std::uint64_t first = random.below(random.below(2) == 0 ? 20 : 200);
      requests.push(at, 0, op, 4096 * first, 4096 * blocks, -1,
                    static_cast<std::uint8_t>(chance.below(kMostClasses)));
      if (random.below(9) > 0) continue;
      requests.push(at, 0, Op::kDiscard, 4096 * random.below(20), 4096 * 4, -1, 0);
    }
    EXPECT_TRUE(builder.begin_vm(name).ok());
    EXPECT_TRUE(builder.add(requests.view()).ok());
    if (name[0] != 'a') continue;
    EXPECT_TRUE(builder.depart(end).ok());
  }
  return std::move(builder).finish().value();
}

RunResult replay(const std::string& name, const ParamMap& params, const Machine& machine,
                 const Accesses& trace) {
  return testing::replay(name, params, machine, trace, 100);
}

TEST(Dss, OneClassIsLru) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Accesses trace = classed_trace(seed);
    for (const Machine& machine :
         {machine_of({50}), machine_of({20, 90}), machine_of({9, 1, 70}), machine_of({0, 40}),
          machine_of({30, 0}), machine_of({20, 0, 60}), machine_of({0, 0, 50}),
          machine_of({0, 0})}) {
      const ParamMap classes{{"classes", PerVm{{"a", 3.0}, {"b", 3.0}, {"c", 3.0}}},
                             {"always", std::int64_t{8}}};
      const RunResult dss = replay("dss", classes, machine, trace);
      const RunResult lru = replay("lru", {}, machine, trace);
      ASSERT_EQ(dss.intervals.size(), lru.intervals.size());
      for (std::size_t i = 0; i < dss.intervals.size(); ++i) {
        testing::expect_same(dss.intervals[i], lru.intervals[i]);
      }
    }
  }
}

TEST(Dss, AsksForAColumnOnlyIfItGoesByOne) {
  // Whether it needs a column of classes.
  const auto classes = [](const std::string& by) {
    const auto system = system_registry().make("dss", {{"by", by}}, {.machine = machine_of({4})});
    return std::pair((*system)->trace_view({}).classes, (*system)->needs_classes());
  };
  EXPECT_FALSE(classes("size").first);
  EXPECT_EQ(classes("auto"), std::pair(true, false));
  EXPECT_EQ(classes("column"), std::pair(true, true));
}

TEST(Dss, LargeRequestsDoNotDriveOutSmallOnes) {
  Requests requests;
  for (int i = 0; i < 4; ++i) requests.push(i, 0, Op::kRead, 4096 * i, 4096);
  requests.push(10, 0, Op::kRead, 4096 * 1'000, 4096 * 64);
  for (int i = 0; i < 4; ++i) requests.push(20 + i, 0, Op::kRead, 4096 * i, 4096);
  const Accesses trace = testing::interned({requests}, {});
  const RunResult result = replay("dss", {}, machine_of({6}), trace);
  const VmCounters& counts = result.intervals.front()[0];
  EXPECT_EQ(counts.tiers[0].hits, 4);
  EXPECT_EQ(counts.tiers[0].fills, 6) << "of the large one what there was room for";
  EXPECT_EQ(counts.tiers[0].evictions, 0);
}

TEST(Dss, MistakesAreNamed) {
  const Accesses trace = classed_trace(1);
  const auto refusal = [&](double of_class) {
    const auto system = system_registry().make("dss", {{"classes", PerVm{{"a", of_class}}}},
                                               {.machine = machine_of({4})});
    return message_of((*system)->make_host(trace).status());
  };
  EXPECT_EQ(refusal(8), "classes: 8 is not a class from 0 to 7");
  EXPECT_EQ(refusal(1.5), "classes: 1.5 is not a class from 0 to 7");
  const auto by_column =
      system_registry().make("dss", {{"by", std::string("column")}}, {.machine = machine_of({4})});
  EXPECT_EQ(message_of((*by_column)->make_host(testing::interned({{}}, {})).status()),
            "by: column: the trace has no column of classes");
}

}  // namespace
}  // namespace mcsim
