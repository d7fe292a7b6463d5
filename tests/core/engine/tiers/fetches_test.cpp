// Trusts: small examples worked by hand.
#include "core/engine/tiers/fetches.hpp"

#include <gtest/gtest.h>

#include "core/engine/hosts/host.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::interned;
using testing::machine_of;

// Two tiers and a backend; only the first tier has delayed hits, unless both do.
Fetches fetches_of(bool both = false) {
  return {{.delays_hits = {true, both}, .tier_ns = {1, 10}, .backend_ns = {100, 300}}, 8};
}

TEST(Fetches, AReadWaitsForTheRemainingTime) {
  Fetches fetches = fetches_of();
  EXPECT_EQ(fetches.times().of(VmId(1), 0), 1);
  EXPECT_EQ(fetches.times().of(VmId(1), 2), 300);
  EXPECT_EQ(fetches.rest(0, BlockId(3), 50), 0);
  fetches.begin(BlockId(3), 2, 50, 100);
  EXPECT_EQ(fetches.rest(0, BlockId(3), 50), 100);
  EXPECT_EQ(fetches.rest(0, BlockId(3), 149), 1);
  EXPECT_EQ(fetches.rest(0, BlockId(3), 150), 0);
  EXPECT_EQ(fetches.rest(0, BlockId(4), 60), 0);
  fetches.end(BlockId(3));
  EXPECT_EQ(fetches.rest(0, BlockId(3), 60), 0);
}

TEST(Fetches, SomeTiersDoNotWait) {
  Fetches one = fetches_of();
  one.begin(BlockId(0), 2, 0, 100);
  EXPECT_EQ(one.rest(1, BlockId(0), 10), 0) << "the tier has no delayed hits";
  Fetches both = fetches_of(true);
  both.begin(BlockId(0), 2, 0, 100);
  EXPECT_EQ(both.rest(1, BlockId(0), 10), 90);
  both.begin(BlockId(0), 1, 0, 10);
  EXPECT_EQ(both.rest(0, BlockId(0), 4), 6);
  EXPECT_EQ(both.rest(1, BlockId(0), 4), 0) << "the block comes from this tier";
}

TEST(Fetches, OfAnotherClockHaveEnded) {
  Fetches fetches = fetches_of();
  fetches.begin(BlockId(0), 2, 1000, 100);
  EXPECT_EQ(fetches.rest(0, BlockId(0), 999), 0);
}

TEST(Fetches, TheSavedOnesMayStillMatter) {
  Fetches fetches = fetches_of();
  fetches.begin(BlockId(1), 2, 0, 100);
  fetches.begin(BlockId(2), 2, 60, 300);
  fetches.begin(BlockId(5), 2, 100, 100);
  ArchiveWriter to;
  fetches.save(to);
  ArchiveReader from(to.bytes());
  from.limit_blocks(8);
  Fetches loaded = fetches_of();
  loaded.load(from);
  ASSERT_TRUE(from.ok()) << from.status();
  EXPECT_EQ(loaded.rest(0, BlockId(1), 99), 0) << "had ended when the last one began";
  EXPECT_EQ(loaded.rest(0, BlockId(2), 100), 260);
  EXPECT_EQ(loaded.rest(0, BlockId(5), 100), 100);
}

TEST(Fetches, DamagedStatesAreRefused) {
  const auto error_of = [](std::uint64_t block, std::uint64_t from_tier, Nanoseconds takes) {
    struct {
      std::uint64_t count = 1;
      Nanoseconds began = 5;
      Nanoseconds takes;
      std::uint64_t block;
      std::uint64_t from;
    } saved{.takes = takes, .block = block, .from = from_tier};
    ArchiveReader from(std::as_bytes(std::span(&saved, 1)));
    from.limit_blocks(8);
    Fetches loaded = fetches_of();
    loaded.load(from);
    return message_of(from.status());
  };
  EXPECT_EQ(error_of(7, 2, 1), "");
  EXPECT_EQ(error_of(7, 3, 1), "a fetch from tier 3 that takes 1 ns");
  EXPECT_EQ(error_of(7, 0, 1), "a fetch from tier 0 that takes 1 ns");
  EXPECT_EQ(error_of(7, 2, 0), "a fetch from tier 2 that takes 0 ns");
  EXPECT_EQ(error_of(8, 2, 1), "block 8 is not one of the trace");
  EXPECT_EQ(error_of(std::uint64_t{1} << 32, 2, 1), "block 4294967296 is not one of the trace");
}

// A tier with delayed hits before a backend of 100 ns, and the counts of its only VM.
class DelayedHits : public ::testing::Test {
 protected:
  static Machine machine() {
    Machine machine = machine_of({4});
    machine.tiers[0].delayed_hits = true;
    machine.backend.read_ns = 100;
    return machine;
  }
  // A request is {time, first block, blocks}.
  static VmCounters counts_of(const std::vector<std::array<std::int64_t, 3>>& reads,
                              const DataPathParams& params = {}) {
    std::vector<Requests> of_vms(1);
    for (const auto& [time, block, blocks] : reads) {
      of_vms[0].push(time, VmId(0), Op::kRead, static_cast<std::uint64_t>(block) * 4096,
                     static_cast<std::uint32_t>(blocks * 4096));
    }
    const Accesses trace = interned(of_vms);
    auto host = make_data_path(params, machine(), trace, shared_by_all(machine(), trace), 1);
    EXPECT_TRUE(host.ok()) << host.status();
    (*host)->replay(trace, {0, trace.request_count()});
    EXPECT_TRUE((*host)->check_invariants().ok());
    const VmCounters counts = (*host)->counters()[0];
    VmCounters none;
    none.tiers.resize(1);
    EXPECT_TRUE(check_conservation(none, counts).ok()) << check_conservation(none, counts);
    return counts;
  }
};

TEST_F(DelayedHits, ARequestWaitsForItsSlowestBlock) {
  // Blocks 0 and 1 come at 100; then block 0 is there, and block 2 comes at 130.
  VmCounters counts = counts_of({{0, 0, 2}, {40, 0, 1}, {40, 1, 1}});
  EXPECT_EQ(counts.misses, 2);
  EXPECT_EQ(counts.delayed_hits, 2);
  EXPECT_EQ(counts.delayed_ns, 120);
  EXPECT_EQ(counts.delayed_requests, 2);
  EXPECT_EQ(counts.request_delay_ns, 120);
  EXPECT_EQ(counts.request_hits, 0);
  // The second request misses a block, for which it waits longer.
  counts = counts_of({{0, 0, 1}, {40, 0, 2}});
  EXPECT_EQ(counts.misses, 2);
  EXPECT_EQ(counts.delayed_ns, 60);
  EXPECT_EQ(counts.delayed_requests, 0);
  EXPECT_EQ(counts.reads_served.requests[1], 2);
  // The last request hits block 0 and waits for block 1.
  counts = counts_of({{0, 0, 1}, {90, 1, 1}, {110, 0, 2}});
  EXPECT_EQ(counts.tiers[0].hits, 1);
  EXPECT_EQ(counts.delayed_hits, 1);
  EXPECT_EQ(counts.request_delay_ns, 80);
  EXPECT_EQ(counts.reads_served.requests[0], 0);
  // A wait that is shorter than a read of the tier (30 ns) is no delay of the request.
  counts = counts_of({{0, 0, 1}, {90, 1, 1}, {170, 0, 2}});
  EXPECT_EQ(counts.delayed_ns, 20);
  EXPECT_EQ(counts.delayed_requests, 0);
  EXPECT_EQ(counts.reads_served.requests[0], 1);
}

TEST_F(DelayedHits, BytesOfDelayedBlocksAreNoHits) {
  const VmCounters counts = counts_of({{0, 0, 1}, {110, 0, 1}, {200, 1, 1}, {210, 0, 2}});
  EXPECT_EQ(counts.bytes, 5 * 4096);
  EXPECT_EQ(counts.byte_hits, 2 * 4096);
  EXPECT_EQ(counts.request_hits, 1);
}

TEST_F(DelayedHits, StagedDataIsFetchedFromMemory) {
  DataPathParams params;
  params.admission = "staged(n=2, mode=data, read_ns=40)";
  // The second read is served by memory and brings the block in; the third joins this fetch.
  const VmCounters counts = counts_of({{0, 0, 1}, {200, 0, 1}, {210, 0, 1}, {240, 0, 1}}, params);
  EXPECT_EQ(counts.staged_hits, 1);
  EXPECT_EQ(counts.delayed_hits, 1);
  EXPECT_EQ(counts.delayed_ns, 30);
  EXPECT_EQ(counts.tiers[0].hits, 1);
}

TEST_F(DelayedHits, NeedTimesAndOneHostOfBlocks) {
  AccessBuilder builder({}, TimeBase::kIndex);
  ASSERT_TRUE(builder.begin_vm("vm0").ok());
  const Accesses trace = std::move(builder).finish().value();
  const auto made =
      make_data_path({}, machine(), trace, shared_by_all(machine(), trace), 1).status();
  EXPECT_EQ(message_of(made), "delayed_hits: fetches take time, which the trace does not have");
  SystemContext context{.machine = machine()};
  context.machine.fleet.hosts = {"a", "b"};
  EXPECT_EQ(message_of(check(DataPathParams{}, context)),
            "delayed_hits: needs a single host, got 2");
  context.machine.fleet.hosts.clear();
  context.machine.in_bytes = true;
  EXPECT_EQ(message_of(check(DataPathParams{}, context)),
            "delayed_hits: capacities in bytes have no rule for them");
}

}  // namespace
}  // namespace mcsim
