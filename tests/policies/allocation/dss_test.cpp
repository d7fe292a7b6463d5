// Trusts: lists of blocks by recency, searched from the end; the LRU structure, where there is but
// one class.
#include "policies/allocation/dss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <vector>

#include "core/engine/run/run.hpp"
#include "core/trace/interning/access_builder.hpp"
#include "policies/allocation/all.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;

// Requests of one to 32 blocks, a third of them writes, of three VMs; the first one is gone after
// half of the time.
// with a column of classes that `of_class` makes of their blocks, or else of chance.
Accesses classed_trace(std::uint64_t seed, std::size_t (*of_class)(std::size_t) = nullptr) {
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
      const std::size_t its_class = of_class ? of_class(blocks) : chance.below(kMostClasses);
      requests.push(at, 0, op, 4096 * first, 4096 * blocks, -1,
                    static_cast<std::uint8_t>(its_class));
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

// Tiers as lists of blocks with their classes, the most recent first.
struct NaiveClasses {
  struct Held {
    BlockId block;
    std::size_t of_class;
  };
  std::vector<std::size_t> capacity;
  std::size_t always;
  std::vector<std::list<Held>> tiers = std::vector<std::list<Held>>(capacity.size());

  std::size_t access(BlockId block, std::size_t of_class) {
    std::size_t found = 0;
    for (; found < tiers.size(); ++found) {
      const auto is_it = [&](const Held& held) { return held.block == block; };
      if (std::erase_if(tiers[found], is_it) > 0) break;
    }
    come_in(0, {block, of_class});
    return found;
  }

  void come_in(std::size_t tier, Held held) {
    if (tier == tiers.size()) return;
    const bool full = tiers[tier].size() == capacity[tier];
    if (full && held.of_class >= always) return come_in(tier + 1, held);
    if (full) {
      auto victim = tiers[tier].end();
      for (auto at = tiers[tier].begin(); at != tiers[tier].end(); ++at) {
        if (victim == tiers[tier].end() || at->of_class >= victim->of_class) victim = at;
      }
      const Held gone = *victim;
      tiers[tier].erase(victim);
      come_in(tier + 1, gone);
    }
    tiers[tier].push_front(held);
  }
};

// Hits by VM and tier, and misses, of the lists and of the system; one VM has a class of its own.
void expect_lists(std::uint64_t seed, bool by_column) {
  const Accesses trace = classed_trace(seed);
  const auto always = static_cast<std::int64_t>(seed % 4);
  const std::vector<Count> capacities{30, 80};
  const RunResult result = replay("dss",
                                  {{"always", always},
                                   {"small", std::int64_t{8192}},
                                   {"classes", PerVm{{"b", 1.0}}},
                                   {"by", std::string(by_column ? "column" : "size")}},
                                  machine_of(capacities), trace);
  NaiveClasses twin{{30, 80}, static_cast<std::size_t>(always)};
  std::vector<std::array<Count, 3>> expected(3, std::array<Count, 3>{});
  bool gone = false;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (!gone && trace.departures.front().request == r) {
      gone = true;
      const BlockId end = trace.vms[1].first_id;  // of the first VM
      for (auto& tier : twin.tiers) {
        std::erase_if(tier, [&](const NaiveClasses::Held& held) { return held.block < end; });
      }
    }
    const std::size_t vm = trace.request_vm[r];
    const auto bytes = 4096 * trace.blocks_of(r).size();
    const std::size_t by_size = bytes <= 8192 ? 0 : bytes <= 65536 ? 1 : 2;
    const std::size_t of_class = vm == 1 ? 1 : by_column ? trace.request_class[r] : by_size;
    for (const BlockId block : trace.blocks_of(r)) ++expected[vm][twin.access(block, of_class)];
  }
  for (std::size_t vm = 0; vm < 3; ++vm) {
    std::array<Count, 3> found{};
    for (const auto& interval : result.intervals) {
      found[0] += interval[vm].tiers[0].hits;
      found[1] += interval[vm].tiers[1].hits;
      found[2] += interval[vm].misses;
    }
    EXPECT_EQ(found, expected[vm]) << "seed " << seed << ", VM " << vm;
  }
}

TEST(Dss, ServesFromWhereListsHaveTheBlock) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    expect_lists(seed, false);
    expect_lists(seed, true);
  }
}

TEST(Dss, AColumnIsWorthTheRuleThatMadeIt) {
  const auto by_size = [](std::size_t blocks) -> std::size_t {
    return blocks <= 2 ? 0 : blocks <= 8 ? 1 : 2;
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Accesses trace = classed_trace(seed, by_size);
    const ParamMap sizes{
        {"small", std::int64_t{8192}}, {"large", std::int64_t{32768}}, {"by", std::string("size")}};
    ParamMap column = sizes;
    column["by"] = std::string("column");
    const RunResult one = replay("dss", sizes, machine_of({20, 90}), trace);
    const RunResult other = replay("dss", column, machine_of({20, 90}), trace);
    const RunResult chance = replay("dss", column, machine_of({20, 90}), classed_trace(seed));
    bool differs = false;
    for (std::size_t i = 0; i < one.intervals.size(); ++i) {
      testing::expect_same(one.intervals[i], other.intervals[i]);
      for (std::size_t vm = 0; vm < 3; ++vm) {
        differs |= one.intervals[i][vm].misses != chance.intervals[i][vm].misses;
      }
    }
    EXPECT_TRUE(differs) << "classes by chance count as well as these";
  }
}

TEST(Dss, AsksForAColumnOnlyIfItGoesByOne) {
  // Whether it asks for one, and cannot do without.
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
            "by: column: the classes of the trace were not kept");
}

}  // namespace
}  // namespace mcsim
