// Trusts: naive::Tiers, with lists of the held blocks after every access.
#include "core/engine/hosts/cache_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/naive_tiers.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_blocks;
using testing::random_modes;
using testing::random_targets;
using testing::random_trace;
using testing::with_writes;

constexpr VmId kVms = 2;

// Expected readings of the probe for one VM.
struct Expected {
  std::set<BlockId> held;
  std::set<BlockId> hit;       // in the window
  std::set<BlockId> accessed;  // in the window: hit or inserted
  Count peak = 0;

  ProbeReading reading() const {
    const auto touched =
        std::ranges::count_if(accessed, [&](BlockId block) { return held.contains(block); });
    return {static_cast<Count>(hit.size()), touched, peak};
  }
  void begin_window() {
    hit.clear();
    accessed.clear();
    peak = static_cast<Count>(held.size());
  }
};

class Probe : public ::testing::TestWithParam<std::pair<Chain, std::vector<Count>>> {};

TEST_P(Probe, ReadsWhatListsHold) {
  const auto& [chain, capacity] = GetParam();
  for (std::uint64_t seed = 1; seed < 9; ++seed) {
    SCOPED_TRACE(seed);
    const bool made_for_lru = seed % 2 == 0;
    const Machine machine = machine_of(capacity);
    const Accesses trace = with_writes(random_trace(2'000, kVms, 60, seed), seed + 1, 0.3);
    Random random(seed + 2);
    Random discards(seed + 3);
    const BlockOwners owners(trace);
    Allocation targets = random_targets(machine, kVms, random);
    const auto division = [&] { return one_part_each(targets, {.mode = ResizeMode::kEager}); };
    DataPathParams params;
    params.chain = chain;
    const auto host = made_for_lru
                          ? make_data_path(params, machine, trace, division(), 1).value()
                          : make_tiered_host(params, machine, trace, division(), 1).value();
    naive::Tiers twin(chain, division().targets);
    CacheProbe probe(trace);
    ASSERT_TRUE(host->attach({.probe = &probe}).ok());
    std::vector<Expected> expected(kVms);
    std::vector<WriteMode> modes(kVms, WriteMode::kThrough);
    // Blocks only come in by an access to them.
    const auto forget_dropped = [&] {
      for (VmId vm = 0; vm < kVms; ++vm) {
        std::erase_if(expected[vm].held,
                      [&](BlockId block) { return twin.find(vm, block) == capacity.size(); });
      }
    };
    for (std::size_t r = 0; r < trace.request_count(); ++r) {
      if (random.below(50) == 0) {
        targets = random_targets(machine, kVms, random);
        ASSERT_TRUE(host->resize(targets).ok());
        twin.resize(division().targets);
      }
      if (random.below(50) == 0) {
        modes = random_modes(kVms, random);
        for (VmId vm = 0; vm < kVms; ++vm) {
          if (modes[vm] != WriteMode::kBack) twin.flush(vm);
        }
        ASSERT_TRUE(host->set_write_modes(modes).ok());
      }
      if (random.below(300) == 0) {
        const VmId gone(random.below(kVms));
        host->release(gone);
        twin.release(gone);
      }
      if (discards.below(4) == 0) {
        const std::vector<BlockId> blocks = random_blocks(trace, discards);
        host->discard(blocks);
        for (const BlockId block : blocks) twin.discard(owners.vm_of(block), block);
      }
      forget_dropped();
      const VmId vm = trace.request_vm[r];
      for (const BlockId block : trace.blocks_of(r)) {
        const Count misses = twin.counts().hits.back();
        if (trace.request_op[r] != 0) {
          twin.write(vm, block, modes[vm]);
        } else {
          twin.read(vm, block);
        }
        Expected& of = expected[vm];
        const bool hit = twin.counts().hits.back() == misses;
        if (hit) of.hit.insert(block);
        if (twin.find(vm, block) < capacity.size()) {
          of.accessed.insert(block);
          of.held.insert(block);
        }
        forget_dropped();
        for (Expected& each : expected) {
          each.peak = std::max(each.peak, static_cast<Count>(each.held.size()));
        }
      }
      host->replay(trace, {r, r + 1});
      for (VmId v = 0; v < kVms; ++v) {
        const ProbeReading mine = probe.readings()[v];
        const ProbeReading theirs = expected[v].reading();
        ASSERT_EQ(mine.distinct_hits, theirs.distinct_hits) << "request " << r << ", VM " << v;
        ASSERT_EQ(mine.touched, theirs.touched) << "request " << r << ", VM " << v;
        ASSERT_EQ(mine.peak, theirs.peak) << "request " << r << ", VM " << v;
      }
      // More windows than a byte can number.
      if (random.below(20) == 0) {
        probe.begin_window();
        for (Expected& of : expected) of.begin_window();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Probe,
    ::testing::Values(std::pair{Chain::kExclusive, std::vector<Count>{12}},
                      std::pair{Chain::kExclusive, std::vector<Count>{9, 20}},
                      std::pair{Chain::kExclusive, std::vector<Count>{5, 9, 20}},
                      std::pair{Chain::kVictim, std::vector<Count>{9, 20}},
                      std::pair{Chain::kVictim, std::vector<Count>{5, 9, 20}},
                      std::pair{Chain::kInclusive, std::vector<Count>{9, 20}},
                      std::pair{Chain::kInclusive, std::vector<Count>{5, 9, 20}},
                      std::pair{Chain::kIndependent, std::vector<Count>{9, 20}},
                      std::pair{Chain::kIndependent, std::vector<Count>{9, 1, 6}}));

TEST(CacheProbe, IsRefusedByAHostThatHoldsBlocks) {
  const Accesses trace = random_trace(50, kVms, 10, 1);
  const Machine machine = machine_of({4, 4});
  for (const Chain chain : {Chain::kExclusive, Chain::kVictim}) {
    DataPathParams params;
    params.chain = chain;
    const auto host =
        make_data_path(params, machine, trace, shared_by_all(machine, trace), 1).value();
    host->replay(trace, trace.all());
    CacheProbe probe(trace);
    EXPECT_EQ(message_of(host->attach({.probe = &probe})),
              "cache probe: the host holds blocks already");
  }
}

}  // namespace
}  // namespace mcsim
