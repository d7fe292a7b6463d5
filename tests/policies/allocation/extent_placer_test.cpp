// Trusts: costs worked out by hand; equal devices that are described in other units.
#include "policies/allocation/extent_placer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/engine/run/run.hpp"
#include "policies/allocation/all.hpp"
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
              "extent: 4 blocks do not fit into any tier");
  }
}

// Two VMs access an extent each equally often, the second by sectors.
Accesses blocks_and_sectors(bool keeps_bytes) {
  std::vector<Requests> of_vms(2);
  for (Nanoseconds at = 0; at < 200; ++at) {
    of_vms[0].push(at, 0, Op::kRead, 0, 4096);
    of_vms[1].push(at, 0, Op::kRead, 0, 512);
  }
  return testing::interned(of_vms, {.line_blocks = kExtent, .bytes = keeps_bytes});
}

TEST(Hystor, GoesByTheSectorsThatWereAskedFor) {
  // VM with an extent in the tier after an epoch; the first if costs are equal.
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

// A fast device of two extents at ten each, that reads a block in a nanosecond; extents of the
// backend cost one each, and a block takes it ten.
Machine dear_and_cheap() {
  Machine machine = machine_of({2 * kExtent});
  machine.tiers[0].device = {"fast", 1, 1, 10};
  machine.backend = {"slow", 10, 10, 1};
  return machine;
}

// Requests of one block, a number in each epoch of 100 ns for each extent; two epochs.
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

// The same drives with zero latency and limits of operations or bytes.
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
