// Trusts: costs worked out by hand; every epoch's extents sorted anew, and accesses counted by
// where their extent is.
#include "policies/allocation/extent_placer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "core/engine/run/run.hpp"
#include "policies/allocation/all.hpp"
#include "policies/allocation/hystor.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::hits_of;
using testing::machine_of;

constexpr Count kExtent = 4;
const ExpandOptions kByExtent{.ops = OpFilter::kAll, .line_blocks = kExtent};

// Requests of one to six blocks in 40 extents of two VMs, most of them in few, with a quarter
// of writes; the few are others later on.
Accesses extent_trace(std::uint64_t seed) {
  Random random(seed);
  std::vector<Requests> of_vms(2);
  for (Requests& requests : of_vms) {
    for (Nanoseconds at = 0; at < 3'000; ++at) {
      const std::uint64_t hot = at < 1'500 ? 0 : 20;
      const std::uint64_t extent = random.below(3) == 0 ? random.below(40) : hot + random.below(5);
      const Op op = random.below(4) == 0 ? Op::kWrite : Op::kRead;
      const auto bytes = static_cast<std::uint32_t>(4096 * (1 + random.below(6)));
      requests.push(at, 0, op, 4096 * (extent * kExtent + random.below(kExtent)), bytes);
    }
  }
  return testing::interned(of_vms, kByExtent);
}

RunResult replay(const std::string& name, ParamMap params, const Machine& machine,
                 const Accesses& trace) {
  params.try_emplace("epoch", std::int64_t{100});
  params.try_emplace("extent", std::int64_t{kExtent});
  return testing::replay(name, params, machine, trace, 100);
}

TEST(ExtentPlacer, RefusesExtentsThatNoTierHasRoomFor) {
  const Accesses trace = extent_trace(1);
  Machine machine;
  machine.tiers = {{{}, kExtent - 1}, {{}, 0}};
  for (const char* name : {"hystor", "edt", "vfrm"}) {
    const auto system = testing::make(name, {{"extent", std::int64_t{kExtent}}}, machine, 100);
    EXPECT_EQ(message_of(system->make_host(trace).status()),
              "extent: no tier has room for one of 4 blocks");
  }
}

TEST(Hystor, CostsAreTheInverseBitmap) {
  EXPECT_EQ(Hystor::cost(1), 128);
  EXPECT_EQ(Hystor::cost(2), 64);
  EXPECT_EQ(Hystor::cost(8), 16);
  EXPECT_EQ(Hystor::cost(15), 16);
  EXPECT_EQ(Hystor::cost(64), 2);
  EXPECT_EQ(Hystor::cost(128), 1);
  EXPECT_EQ(Hystor::cost(1'000'000), 1);
}

// Two VMs ask equally often for an extent each, the second for a sector at a time.
Accesses blocks_and_sectors(bool keeps_bytes) {
  std::vector<Requests> of_vms(2);
  for (Nanoseconds at = 0; at < 200; ++at) {
    of_vms[0].push(at, 0, Op::kRead, 0, 4096);
    of_vms[1].push(at, 0, Op::kRead, 0, 512);
  }
  return testing::interned(of_vms, {.line_blocks = kExtent, .bytes = keeps_bytes});
}

TEST(Hystor, GoesByTheSectorsThatWereAskedFor) {
  // Whose extent is in the tier after an epoch: the first where both cost the same.
  const auto placed = [](const ParamMap& params, bool keeps_bytes) {
    const RunResult result =
        replay("hystor", params, machine_of({kExtent}), blocks_and_sectors(keeps_bytes));
    return std::pair(result.intervals[1][0].tiers[0].hits, result.intervals[1][1].tiers[0].hits);
  };
  const ParamMap blocks{{"size", std::string("blocks")}};
  EXPECT_EQ(placed({}, true), std::pair(Count{0}, Count{100}));
  EXPECT_EQ(placed(blocks, true), std::pair(Count{100}, Count{0}));
  EXPECT_EQ(placed({}, false), std::pair(Count{100}, Count{0})) << "a trace that does not tell";

  const auto asks = [](const ParamMap& params) {
    const auto system = system_registry().make("hystor", params, {.machine = machine_of({4})});
    const ExpandOptions view = (*system)->trace_view({});
    return std::pair(view.bytes, view.line_blocks);
  };
  EXPECT_EQ(asks({}), std::pair(true, 256U));
  EXPECT_EQ(asks(blocks), std::pair(false, 256U));
}

// Hits by interval where each epoch's best extents were placed at its end.
std::vector<Count> sorted_anew(const Accesses& trace, bool hystor, std::size_t room) {
  std::vector<double> scores(trace.id_count() / kExtent, 0);
  std::set<std::size_t> placed;
  std::vector<Count> hits(1, 0);
  Nanoseconds next = 100;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    for (; trace.request_time[r] >= next; next += 100) {
      std::vector<std::tuple<double, bool, std::size_t>> order;
      for (std::size_t e = 0; e < scores.size(); ++e) {
        if (scores[e] > 0) order.emplace_back(-scores[e], !placed.contains(e), e);
      }
      std::ranges::sort(order);
      placed.clear();
      for (const auto& [score, elsewhere, extent] : order) {
        if (placed.size() < room) placed.insert(extent);
      }
      if (!hystor) {
        for (double& score : scores) score /= 2;
      }
      hits.push_back(0);
    }
    const auto blocks = trace.blocks_of(r);
    std::set<std::size_t> touched;
    for (const BlockId block : blocks) {
      const std::size_t extent = block / kExtent;
      hits.back() += placed.contains(extent) ? 1 : 0;
      if (!hystor) scores[extent] += 1;
      touched.insert(extent);
    }
    for (const std::size_t extent : touched) {
      if (hystor) scores[extent] += Hystor::cost(static_cast<Count>(blocks.size()) * 8);
    }
  }
  return hits;
}

TEST(ExtentPlacer, HasTheBestExtentsInTheTierWhenAnEpochBegins) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Accesses trace = extent_trace(seed);
    const ParamMap never{{"saturation", 1e300}};
    EXPECT_EQ(hits_of(replay("hystor", never, machine_of({7 * kExtent}), trace), 0),
              sorted_anew(trace, true, 7));
    EXPECT_EQ(hits_of(replay("vfrm", {}, machine_of({7 * kExtent + 3}), trace), 0),
              sorted_anew(trace, false, 7));
  }
}

// A fast device of two extents at ten each, that reads a block in a nanosecond; extents of the
// backend cost one each, and a block takes it ten.
Machine dear_and_cheap() {
  Machine machine = machine_of({2 * kExtent});
  machine.tiers[0].device = {"fast", 1, 1, 10};
  machine.backend = {"slow", 10, 10, 1};
  return machine;
}

// Requests of one block, so many an epoch of 100 ns for each extent; two epochs.
Accesses steady_extents(const std::vector<int>& requests_of) {
  Requests requests;
  for (const Nanoseconds epoch : {0, 100}) {
    for (std::size_t extent = 0; extent < requests_of.size(); ++extent) {
      for (int i = 0; i < requests_of[extent]; ++i) {
        requests.push(epoch + 1, 0, Op::kRead, 4096 * extent * kExtent, 4096);
      }
    }
    requests.time.back() = epoch + 99;
  }
  return testing::interned({requests}, kByExtent);
}

TEST(Edt, AnExtentIsWhereItCostsLeast) {
  // Drives of three extents. An epoch is ten operations of a drive, and a hundred of the tier, for
  // twenty: 40 operations cost twelve there and ten here, 20 six there and ten here.
  const auto second_epoch = [](const std::vector<int>& requests_of) {
    const ParamMap last{{"memory", 0.0}, {"drive_gb", 3.0 * kExtent * 4096 / 1e9}};
    return hits_of(replay("edt", last, dear_and_cheap(), steady_extents(requests_of)), 0)[1];
  };
  EXPECT_EQ(second_epoch({40, 20, 1}), 40);
  EXPECT_EQ(second_epoch({20, 20, 1}), 0) << "cheaper where they are, though there is room";
  EXPECT_EQ(second_epoch({40, 41, 45}), 41 + 45) << "room for two: those that save most";
  EXPECT_EQ(second_epoch({70, 60, 1}), 70) << "operations for one of them: the other has to wait";
}

// The same drives, which read in no time but say what they can do, by operations or by bytes.
TEST(Edt, DevicesSayHowManyOperationsTheyCanDo) {
  const Accesses trace = steady_extents({40, 41, 45});
  const ParamMap last{{"memory", 0.0}, {"drive_gb", 3.0 * kExtent * 4096 / 1e9}};
  const auto hits = hits_of(replay("edt", last, dear_and_cheap(), trace), 0);
  for (const bool by_bytes : {false, true}) {
    Machine machine = dear_and_cheap();
    const auto can_do = [&](Device& device, double operations) {
      device.read_ns = by_bytes ? 0 : 77;
      (by_bytes ? device.bandwidth : device.iops) = operations * (by_bytes ? 4096 : 1);
    };
    can_do(machine.tiers[0].device, 1e9);
    can_do(machine.backend, 1e8);
    EXPECT_EQ(hits_of(replay("edt", last, machine, trace), 0), hits);
    machine.tiers[0].device.iops = machine.tiers[0].device.bandwidth = 1e3;
    EXPECT_NE(hits_of(replay("edt", last, machine, trace), 0), hits) << "too few for any";
  }
}

TEST(Vfrm, CountsSmallReadsAloneIfAsked) {
  Requests requests;
  for (const Nanoseconds epoch : {0, 100}) {
    const auto blocks = [](std::uint64_t extent) { return 4096 * extent * kExtent; };
    for (int i = 0; i < 9; ++i) requests.push(epoch + 1, 0, Op::kWrite, blocks(0), 4096);
    for (int i = 0; i < 2; ++i) requests.push(epoch + 2, 0, Op::kRead, blocks(1), 4096);
    requests.push(epoch + 3, 0, Op::kRead, blocks(2), 5 * 4096);
  }
  const Accesses trace = testing::interned({requests}, kByExtent);
  const Machine machine = machine_of({kExtent});
  EXPECT_EQ(hits_of(replay("vfrm", {}, machine, trace), 0)[1], 9);
  const ParamMap small{{"counts", std::string("small-reads")}};
  EXPECT_EQ(hits_of(replay("vfrm", small, machine, trace), 0)[1], 2);
}

TEST(Edt, OperationsFadeWithTime) {
  const Accesses trace = extent_trace(11);
  const auto placed = [&](double memory) {
    Machine machine = machine_of({9 * kExtent});
    machine.backend.dollars_per_gb = 1;
    return hits_of(replay("edt", {{"memory", memory}}, machine, trace), 0);
  };
  EXPECT_NE(placed(0), placed(0.9));
}

TEST(ExtentPlacer, SlowerTiersHaveTheNextBest) {
  const Accesses trace = extent_trace(6);
  const RunResult two = replay("vfrm", {}, machine_of({3 * kExtent, 8 * kExtent}), trace);
  const std::vector<Count> first = sorted_anew(trace, false, 3);
  EXPECT_EQ(hits_of(two, 0), first);
  std::vector<Count> both = hits_of(two, 1);
  for (std::size_t k = 0; k < both.size(); ++k) both[k] += first[k];
  EXPECT_EQ(both, sorted_anew(trace, false, 11));
}

TEST(ExtentPlacer, MovesNoMoreThanItsRate) {
  const Accesses trace = extent_trace(7);
  const double rate = 6.0 * kExtent * 1e9 / 100;  // six extents an epoch
  const RunResult result = replay("vfrm", {{"rate", rate}}, machine_of({9 * kExtent}), trace);
  Count most = 0;
  for (const auto& interval : result.intervals) {
    Count moved = 0;
    for (const VmCounters& vm : interval) moved += vm.tiers[0].fills + vm.tiers[0].evictions;
    most = std::max(most, moved);
  }
  EXPECT_EQ(most, 6 * kExtent) << "and as much where there is more to move";
}

TEST(ExtentPlacer, SaturatedCostsAreHalvedTogether) {
  const Accesses trace = extent_trace(8);
  const auto hits = [&](double saturation) {
    return hits_of(replay("hystor", {{"saturation", saturation}}, machine_of({7 * kExtent}), trace),
                   0);
  };
  EXPECT_NE(hits(1'000), hits(1e300)) << "what was long ago counts less";
}

Accesses reads_of(Accesses trace) {
  trace.request_op = std::vector<std::uint8_t>(trace.request_count(), 0);
  return trace;
}

Count total(const RunResult& result, Count VmCounters::* of) {
  Count sum = 0;
  for (const auto& interval : result.intervals) {
    for (const VmCounters& vm : interval) sum += vm.*of;
  }
  return sum;
}

// What is for writes is not for extents; and in it writes to the backend are absorbed.
TEST(Hystor, AWriteAreaTakesSpaceFromExtentsAndWritesFromTheBackend) {
  const Accesses trace = extent_trace(12);
  const Machine machine = machine_of({10 * kExtent});
  const ParamMap area{{"saturation", 1e300}, {"write_area", 0.3}};
  const Accesses reads = reads_of(extent_trace(12));
  EXPECT_EQ(hits_of(replay("hystor", area, machine, reads), 0), sorted_anew(reads, true, 7));
  const ParamMap none{{"saturation", 1e300}};
  const RunResult without = replay("hystor", none, machine_of({7 * kExtent}), trace);
  const RunResult with = replay("hystor", area, machine, trace);
  EXPECT_LT(total(with, &VmCounters::backend_writes), total(without, &VmCounters::backend_writes));
  EXPECT_LT(total(with, &VmCounters::backend_reads), total(without, &VmCounters::backend_reads));
  EXPECT_EQ(total(without, &VmCounters::write_backs), 0);
  ParamMap clean = area;
  clean["high_water"] = 0.0;
  const RunResult never_dirty = replay("hystor", clean, machine, trace);
  EXPECT_EQ(total(never_dirty, &VmCounters::dirty), 0);
  EXPECT_GT(total(never_dirty, &VmCounters::write_backs), total(with, &VmCounters::write_backs));
}

TEST(PlacedHost, RefusesWhatDoesNotFit) {
  const Accesses trace = extent_trace(9);
  PlacedHost host(machine_of({kExtent}), trace, [](const ExtentAccess&) {});
  const std::vector<Placement> both{{.extent = 0, .tier = 0}, {.extent = 1, .tier = 0}};
  EXPECT_EQ(message_of(host.place(both)), "tier 0: 8 blocks would be placed in 4");
  EXPECT_TRUE(host.check_invariants().ok());
  EXPECT_EQ(host.counters()[0].tiers[0].occupancy, 0) << "nothing moved";
  const std::vector<Placement> nowhere{{.extent = 9'999, .tier = 0}};
  EXPECT_EQ(host.place(nowhere).code(), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE(host.resize(Allocation(1, 2)).ok());
}

}  // namespace
}  // namespace mcsim
