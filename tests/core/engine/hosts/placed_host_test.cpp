// Trusts: extents, a list of written blocks and the backend in maps, all with versions of data, of
// which a read must find the newest.
#include "core/engine/hosts/placed_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <numeric>
#include <vector>

#include "tests/support/hosts.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;

constexpr BlockId kExtent = 4;
constexpr std::size_t kTiers = 2;

// Blocks and the version of their data, wherever it may be.
class NaivePlaces {
 public:
  NaivePlaces(Count area, Count most_dirty) : area_size_(area), most_dirty_(most_dirty) {}

  struct Counts {
    std::vector<Count> hits = std::vector<Count>(kTiers + 1);    // the last: misses
    std::vector<Count> served = std::vector<Count>(kTiers + 1);  // the last: by the backend
    std::vector<Count> device_writes = std::vector<Count>(kTiers);
    Count backend_reads = 0;
    Count backend_writes = 0;
    Count dirty = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  // False if old data was read.
  bool access(Op op, BlockId block) {
    const std::size_t extent = block / kExtent;
    if (const auto home = tier_of_.find(extent); home != tier_of_.end()) {
      ++counts_.hits[home->second];
      ++counts_.served[home->second];
      if (op == Op::kRead) return in_tier_[block] == newest_[block];
      ++counts_.device_writes[home->second];
      in_tier_[block] = ++newest_[block];
      return true;
    }
    const auto written = std::ranges::find(area_, block);
    const bool held = written != area_.end();
    ++counts_.hits[held ? 0 : kTiers];
    if (op == Op::kRead) {
      ++counts_.served[held ? 0 : kTiers];
      counts_.backend_reads += held ? 0 : 1;
      return (held ? in_area_ : on_backend_)[block] == newest_[block];
    }
    if (area_size_ == 0) {
      ++counts_.served[kTiers];
      ++counts_.backend_writes;
      on_backend_[block] = ++newest_[block];
      return true;
    }
    write(block, written);
    return true;
  }

  void place(std::size_t extent, std::size_t tier) {
    const auto home = tier_of_.find(extent);
    const bool placed = home != tier_of_.end();
    if (placed ? home->second == tier : tier == kTiers) return;
    if (!placed) forget(extent);
    for (const BlockId block : blocks_of(extent)) {
      if (!placed) {
        in_tier_[block] = on_backend_[block];
        ++counts_.backend_reads;
      }
      if (tier == kTiers) {
        on_backend_[block] = in_tier_[block];
        ++counts_.backend_writes;
      } else {
        ++counts_.device_writes[tier];
      }
    }
    if (tier == kTiers) {
      tier_of_.erase(extent);
    } else {
      tier_of_[extent] = tier;
    }
  }

  // The placed extents of a departed VM are never read.
  void release(std::size_t extent) {
    forget(extent);
    for (const BlockId block : blocks_of(extent)) {
      on_backend_[block] = newest_[block];
    }
    tier_of_.erase(extent);
  }

  // A block leaves the area, and what is newer than on the backend is lost.
  void discard(BlockId block) {
    if (std::ranges::find(area_, block) == area_.end()) return;
    dirty_.remove(block);
    newest_[block] = on_backend_[block];
    area_.remove(block);
  }

  Counts counts() const {
    Counts now = counts_;
    now.dirty = static_cast<Count>(dirty_.size());
    return now;
  }
  Count held() const { return static_cast<Count>(area_.size() + kExtent * tier_of_.size()); }

 private:
  static std::vector<BlockId> blocks_of(std::size_t extent) {
    std::vector<BlockId> blocks(kExtent);
    std::iota(blocks.begin(), blocks.end(), BlockId(extent * kExtent));
    return blocks;
  }

  void write(BlockId block, std::list<BlockId>::iterator written) {
    ++counts_.served[0];
    ++counts_.device_writes[0];
    if (written != area_.end()) area_.erase(written);
    if (static_cast<Count>(area_.size()) == area_size_) leave(area_.front());
    area_.push_back(block);
    in_area_[block] = ++newest_[block];
    if (std::ranges::find(dirty_, block) == dirty_.end()) dirty_.push_back(block);
    while (static_cast<Count>(dirty_.size()) > most_dirty_) clean(dirty_.front());
  }
  void clean(BlockId block) {
    if (std::ranges::find(dirty_, block) == dirty_.end()) return;
    dirty_.remove(block);
    on_backend_[block] = in_area_[block];
    ++counts_.backend_writes;
  }
  void leave(BlockId block) {
    clean(block);
    area_.remove(block);
  }
  void forget(std::size_t extent) {
    for (const BlockId block : blocks_of(extent)) {
      if (std::ranges::find(area_, block) != area_.end()) leave(block);
    }
  }

  Count area_size_;
  Count most_dirty_;
  std::map<std::size_t, std::size_t> tier_of_;  // of extents that are in one
  std::list<BlockId> area_;                     // written last, last
  std::list<BlockId> dirty_;                    // dirty for longest first
  std::map<BlockId, Count> newest_;
  std::map<BlockId, Count> in_tier_;
  std::map<BlockId, Count> in_area_;
  std::map<BlockId, Count> on_backend_;
  Counts counts_;
};

NaivePlaces::Counts counts_of(const PlacedHost& host) {
  NaivePlaces::Counts sum;
  for (const VmCounters& vm : host.counters()) {
    for (std::size_t k = 0; k < kTiers; ++k) {
      sum.hits[k] += vm.tiers[k].hits;
      sum.device_writes[k] += vm.tiers[k].device_writes();
    }
    sum.hits[kTiers] += vm.misses;
    for (std::size_t k = 0; k <= kTiers; ++k) {
      sum.served[k] += vm.reads_served.blocks[k] + vm.writes_served.blocks[k];
    }
    sum.backend_reads += vm.backend_reads;
    sum.backend_writes += vm.backend_writes;
    sum.dirty += vm.dirty;
  }
  return sum;
}

// Requests of up to six blocks of two VMs.
Accesses extent_trace(std::uint64_t seed) {
  Random random(seed);
  std::vector<Requests> of_vms(2);
  for (Requests& requests : of_vms) {
    for (Nanoseconds at = 0; at < 1'500; ++at) {
      const std::uint64_t block = random.below(random.below(2) == 0 ? 20 : 120);
      const auto bytes = static_cast<std::uint32_t>(4096 * (1 + random.below(6)));
      requests.push(at, 0, random.below(2) == 0 ? Op::kWrite : Op::kRead, 4096 * block, bytes);
    }
  }
  return testing::interned(of_vms, {.ops = OpFilter::kAll, .line_blocks = kExtent});
}

// Random extents in the tiers: three in the first, which has the write area, too, and four below.
std::vector<Placement> random_moves(std::size_t extents, std::vector<std::size_t>& at,
                                    Random& random) {
  std::vector<std::size_t> wanted(extents, kTiers);
  for (std::size_t i = 0; i < 7; ++i) wanted[random.below(extents)] = i < 3 ? 0 : 1;
  std::vector<Placement> moves;
  for (std::size_t extent = 0; extent < extents; ++extent) {
    if (wanted[extent] != at[extent]) moves.push_back({.extent = extent, .tier = wanted[extent]});
  }
  at = wanted;
  return moves;
}

void expect_counts_of_versions(WriteArea area, std::uint64_t seed) {
  const Accesses trace = extent_trace(seed);
  const std::size_t extents = trace.id_count() / kExtent;
  PlacedHost host(
      machine_of({Count{3} * kExtent + area.blocks, Count{4} * kExtent}), trace,
      [](const ExtentAccess&) {}, area);
  NaivePlaces twin(area.blocks, area.most_dirty);
  std::vector<std::size_t> at(extents, kTiers);
  Random random(seed + 1);
  Random discards(seed + 2);
  std::vector<VmCounters> before = host.counters();
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    if (random.below(60) == 0) {
      const std::vector<Placement> moves = random_moves(extents, at, random);
      ASSERT_TRUE(host.place(moves).ok());
      for (const Placement& move : moves) twin.place(move.extent, move.tier);
    }
    if (random.below(400) == 0) {
      const VmInfo& gone = trace.vms[trace.request_vm[r]];
      host.release(trace.request_vm[r]);
      for (std::size_t e = gone.first_id / kExtent;
           e < (gone.first_id + static_cast<std::size_t>(gone.unique_blocks)) / kExtent; ++e) {
        twin.release(e);
        at[e] = kTiers;
      }
    }
    if (discards.below(4) == 0) {
      const std::vector<BlockId> blocks = testing::random_blocks(trace, discards);
      host.discard(blocks);
      for (const BlockId block : blocks) twin.discard(block);
    }
    for (const BlockId block : trace.blocks_of(r)) {
      ASSERT_TRUE(twin.access(static_cast<Op>(trace.request_op[r]), block)) << "request " << r;
    }
    host.replay(trace, {r, r + 1});
    ASSERT_EQ(counts_of(host), twin.counts()) << "request " << r;
    ASSERT_TRUE(host.check_invariants().ok()) << host.check_invariants();
    const std::vector<VmCounters> now = host.counters();
    Count held = 0;
    for (std::size_t vm = 0; vm < now.size(); ++vm) {
      ASSERT_TRUE(check_conservation(before[vm], now[vm]).ok());
      for (const TierCounters& tier : now[vm].tiers) held += tier.occupancy;
    }
    ASSERT_EQ(held, twin.held());
    before = now;
  }
}

TEST(PlacedHost, CountsWhatVersionsOfDataSayRequestByRequest) {
  expect_counts_of_versions({}, 100);
  for (const Count blocks : {1, 9, 40}) {
    for (const Count dirty : {Count{0}, blocks / 2, blocks}) {
      SCOPED_TRACE(fmt::format("{} blocks, {} dirty", blocks, dirty));
      expect_counts_of_versions({.blocks = blocks, .most_dirty = dirty},
                                static_cast<std::uint64_t>(3 * blocks + dirty));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// A write of an extent that lives nowhere waits for the first tier, and so does a read after it.
TEST(PlacedHost, ServesWhatWasWrittenFromTheArea) {
  Requests requests;
  requests.push(0, 0, Op::kWrite, 0, 3 * 4096);  // three blocks, of which two fit
  requests.push(1, 0, Op::kRead, 4096, 2 * 4096);
  requests.push(2, 0, Op::kRead, 0, 2 * 4096);
  const Accesses trace =
      testing::interned({requests}, {.ops = OpFilter::kAll, .line_blocks = kExtent});
  PlacedHost host(machine_of({2}), trace, [](const ExtentAccess&) {},
                  {.blocks = 2, .most_dirty = 1});
  host.replay(trace, trace.all());
  const VmCounters vm = host.counters()[0];
  EXPECT_EQ(vm.writes_served.requests[0], 1);
  EXPECT_EQ(vm.reads_served.requests[0], 1);
  EXPECT_EQ(vm.reads_served.requests[1], 1) << "block 0 had to leave";
  EXPECT_EQ(vm.tiers[0].fills, 3);
  EXPECT_EQ(vm.tiers[0].evictions, 1);
  EXPECT_EQ(vm.tiers[0].hits, 3);
  EXPECT_EQ(vm.misses, 4);
  EXPECT_EQ(vm.write_backs, 2);
  EXPECT_EQ(vm.dirty, 1);
  const std::vector<Placement> no_room{{.extent = 0, .tier = 0}};
  EXPECT_EQ(message_of(host.place(no_room)), "tier 0: 4 blocks would be placed in 0");
}

}  // namespace
}  // namespace mcsim
