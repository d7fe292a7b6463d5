// Trusts: a list of blocks for each VM, searched and cut by hand.
#include "core/engine/host_meters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/exclusive_lru.hpp"
#include "core/engine/tiered_host.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::random_trace;
using testing::single_vm;
using testing::with_writes;

// One VM with LRU in one cache, and what there is to know of it.
class NaiveVm {
 public:
  void resize(Count capacity) {
    capacity_ = capacity;
    settle();
  }

  void access(BlockId block, Count ghosts, Count tail) {
    const auto held = std::ranges::find(blocks_, block);
    accessed_.insert(block);
    if (held != blocks_.end()) {
      hit_.insert(block);
      reading_.tail_hits += std::distance(held, blocks_.end()) <= tail ? 1 : 0;
      blocks_.erase(held);
    } else {
      // Its last eviction, if it did not come back since.
      const auto last = std::ranges::find(evicted_.rbegin(), evicted_.rend(), block);
      const auto ago = last - evicted_.rbegin();
      if (last != evicted_.rend() && ago < ghosts) ++reading_.ghost_hits;
      std::ranges::replace(evicted_, block, kNoBlock);
    }
    blocks_.push_front(block);
    settle();
    peak_ = std::max(peak_, static_cast<Count>(blocks_.size()));
  }

  void drop(BlockId block) { std::erase(blocks_, block); }

  HostReading read() {
    HostReading reading = std::exchange(reading_, {});
    reading.distinct_hits = static_cast<Count>(std::exchange(hit_, {}).size());
    const std::set<BlockId> accessed = std::exchange(accessed_, {});
    reading.touched =
        std::ranges::count_if(blocks_, [&](BlockId block) { return accessed.contains(block); });
    reading.peak = std::exchange(peak_, static_cast<Count>(blocks_.size()));
    return reading;
  }

 private:
  void settle() {
    while (static_cast<Count>(blocks_.size()) > capacity_) {
      evicted_.push_back(blocks_.back());
      blocks_.pop_back();
    }
  }

  Count capacity_ = 0;
  std::list<BlockId> blocks_;
  std::vector<BlockId> evicted_;  // in order; kNoBlock where it came back
  std::set<BlockId> hit_;
  std::set<BlockId> accessed_;
  Count peak_ = 0;
  HostReading reading_;
};

constexpr Count kGhosts = 7;
constexpr Count kTail = 4;

void expect_equal_to_lists(const Accesses& trace, Host& host, std::vector<NaiveVm> vms,
                           std::vector<Allocation> targets) {
  HostMeters meters(trace, {.ghosts = kGhosts, .tail = kTail}, 2);
  ASSERT_TRUE(host.attach(meters).ok());
  const std::size_t step = trace.request_count() / (targets.size() + 1);
  for (std::size_t k = 0; k <= targets.size(); ++k) {
    const RequestRange range{k * step, (k + 1) * step};
    host.replay(trace, range);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const bool around = trace.request_vm[r] == 0 && trace.request_op[r] != 0;
      for (const BlockId block : trace.blocks_of(r)) {
        NaiveVm& vm = vms[trace.request_vm[r]];
        if (around) {
          vm.drop(block);
        } else {
          vm.access(block, kGhosts, kTail);
        }
      }
    }
    // Every other time targets change in the middle of a window.
    if (k % 2 == 0 || k == targets.size()) {
      for (std::size_t vm = 0; vm < vms.size(); ++vm) {
        EXPECT_EQ(meters.readings()[vm], vms[vm].read()) << "VM " << vm << ", window " << k;
      }
      meters.begin_window();
    }
    if (k == targets.size()) break;
    ASSERT_TRUE(host.resize(targets[k]).ok());
    for (std::size_t vm = 0; vm < vms.size(); ++vm) vms[vm].resize(in_all_tiers(targets[k], vm));
  }
}

Allocation random_targets(Random& random, const Machine& machine, std::size_t vms) {
  std::vector<double> weights(vms);
  for (double& weight : weights) weight = static_cast<double>(random.below(5));
  return proportional(machine, weights);
}

TEST(HostMeters, AreThoseOfListsOfBlocksByBothKindsOfHost) {
  Random random(5);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const auto vms = static_cast<VmId>(1 + seed % 3);
    const Accesses trace = with_writes(random_trace(3'000, vms, 120, seed), seed, 0.25);
    const Machine machine = machine_of({10 + static_cast<Count>(random.below(30)), 40});
    std::vector<Allocation> targets;
    for (int k = 0; k < 5; ++k) targets.push_back(random_targets(random, machine, vms));
    std::vector<NaiveVm> twins(vms);
    const Allocation first = proportional(machine, std::vector<double>(vms, 1.0));
    for (std::size_t vm = 0; vm < vms; ++vm) twins[vm].resize(in_all_tiers(first, vm));
    DataPathParams params;
    params.writes = "through, " + trace.vms[0].name + "=around";
    const Division division = one_part_each(first, {.mode = ResizeMode::kEager});
    const auto fast = make_data_path(params, machine, trace, division, 1);
    const auto tiered = make_tiered_host(params, machine, trace, division, 1);
    ASSERT_TRUE(fast.ok() && tiered.ok()) << fast.status() << tiered.status();
    expect_equal_to_lists(trace, **fast, twins, targets);
    expect_equal_to_lists(trace, **tiered, twins, targets);
  }
}

// By a write around, with new targets, or with its VM.
TEST(HostMeters, ThePeakCountsWhatLeavesBeforeTheNextAccess) {
  Accesses trace = single_vm({0, 1, 1, 1, 2});
  trace.request_op = std::vector<std::uint8_t>{0, 0, 1, 0, 0};
  const Machine machine = machine_of({2, 2});
  DataPathParams params;
  params.writes = "around";
  const Division division =
      one_part_each(proportional(machine, std::vector{1.0}), {.mode = ResizeMode::kEager});
  std::vector<std::unique_ptr<Host>> hosts;
  hosts.push_back(make_data_path(params, machine, trace, division, 1).value());
  for (const Chain chain : {Chain::kExclusive, Chain::kInclusive, Chain::kVictim}) {
    params.chain = chain;
    hosts.push_back(make_tiered_host(params, machine, trace, division, 1).value());
  }
  for (const std::unique_ptr<Host>& host : hosts) {
    HostMeters meters(trace, {}, 2);
    ASSERT_TRUE(host->attach(meters).ok());
    host->replay(trace, {0, 3});
    EXPECT_EQ(meters.readings()[0].peak, 2) << "one was written around";
    meters.begin_window();
    EXPECT_EQ(meters.readings()[0].peak, 1);
    host->replay(trace, {3, 4});
    ASSERT_TRUE(host->resize(Allocation(machine.tiers.size(), 1)).ok());
    EXPECT_EQ(meters.readings()[0].peak, 2) << "there is no space any more";
    meters.begin_window();
    EXPECT_EQ(meters.readings()[0].peak, 0);
    ASSERT_TRUE(host->resize(proportional(machine, std::vector{1.0})).ok());
    host->replay(trace, {4, 5});
    host->release(0);
    EXPECT_EQ(meters.readings()[0].peak, 1) << "the VM left";
  }
}

TEST(HostMeters, AreAttachedBeforeTheFirstAccess) {
  for (const Chain chain : {Chain::kExclusive, Chain::kVictim}) {
    const Accesses trace = single_vm({1, 2, 3});
    const Machine machine = machine_of({10});
    DataPathParams params;
    params.chain = chain;
    const auto host =
        make_data_path(params, machine, trace, shared_by_all(machine, trace), 1).value();
    host->replay(trace, {0, 1});
    HostMeters meters(trace, {.ghosts = 1}, 1);
    EXPECT_EQ(message_of(host->attach(meters)), "host meter: the host has blocks already");
  }
}

TEST(HostMeters, HoldInEveryChainAndWhenAVmLeaves) {
  for (const Chain chain : {Chain::kExclusive, Chain::kInclusive, Chain::kVictim}) {
    const Accesses trace = with_writes(random_trace(4'000, 3, 150, 9), 9, 0.25);
    const Machine machine = machine_of({12, 50});
    DataPathParams params;
    params.chain = chain;
    const Division division = one_part_each(proportional(machine, std::vector<double>(3, 1.0)),
                                            {.mode = ResizeMode::kLazy});
    auto host = make_tiered_host(params, machine, trace, division, 1);
    ASSERT_TRUE(host.ok()) << host.status();
    HostMeters meters(trace, {.ghosts = kGhosts}, machine.tiers.size());
    ASSERT_TRUE((*host)->attach(meters).ok());
    for (std::size_t r = 0; r < trace.request_count(); r += 50) {
      (*host)->replay(trace, {r, std::min(r + 50, trace.request_count())});
      for (std::size_t vm = 0; vm < 3; ++vm) {
        const HostReading& reading = meters.readings()[vm];
        EXPECT_LE(reading.distinct_hits, 150);
        EXPECT_LE(reading.touched, reading.peak);
        EXPECT_GE(reading.touched, 0);
      }
      meters.begin_window();
    }
    (*host)->release(1);
    meters.begin_window();
    EXPECT_EQ(meters.readings()[1].peak, 0) << "nothing is held any more";
  }
}

// A block of which one copy leaves, and then the last, may still go down with a third.
TEST(HostMeters, KnowWhatIsHeldAfterTargetsChanged) {
  for (const Chain chain : {Chain::kInclusive, Chain::kVictim, Chain::kIndependent}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", name_of(chain), seed));
      // The first has 300 windows: more than there are marks for, several times.
      const Accesses trace =
          with_writes(random_trace(seed == 1 ? 6'000 : 2'000, 2, 60, seed), seed, 0.25);
      const Machine machine = machine_of({12, 20, 30});
      Random random(seed);
      DataPathParams params;
      params.chain = chain;
      const Division division = one_part_each(proportional(machine, std::vector<double>(2, 1.0)),
                                              {.mode = ResizeMode::kEager});
      const auto host = make_tiered_host(params, machine, trace, division, 1).value();
      const auto& tiers = dynamic_cast<const TieredHost&>(*host);
      HostMeters meters(trace, {.ghosts = kGhosts}, machine.tiers.size());
      ASSERT_TRUE(host->attach(meters).ok());
      for (std::size_t r = 0; r < trace.request_count(); r += 20) {
        host->replay(trace, {r, std::min(r + 20, trace.request_count())});
        ASSERT_TRUE(host->resize(random_targets(random, machine, 2)).ok());
        (void)meters.readings();
        meters.begin_window();
        for (VmId vm = 0; vm < 2; ++vm) {
          const VmInfo& info = trace.vms[vm];
          Count held = 0;
          for (Count i = 0; i < info.unique_blocks; ++i) {
            const auto block = static_cast<BlockId>(info.first_id + i);
            held += tiers.fastest_with(vm, block) < machine.tiers.size() ? 1 : 0;
          }
          ASSERT_EQ(meters.readings()[vm].peak, held) << "request " << r << ", VM " << vm;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mcsim
