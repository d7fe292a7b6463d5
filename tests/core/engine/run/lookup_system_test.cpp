// Trusts: a naive LRU list that looks up a chain before it touches the chain from its tail.
#include "core/engine/run/lookup_system.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/trace/intervals.hpp"
#include "tests/support/naive_meters.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kVms = 2;
constexpr Nanoseconds kPeriod = 100;
constexpr Count kSize = 6;  // blocks of each VM
constexpr std::uint32_t kBlockBytes = 4096;

struct Chain {
  Nanoseconds time;
  VmId vm;
  std::vector<std::uint64_t> blocks;  // each follows one other block only
};

// Chains of a tree in which block b follows block (b - 1) / 2.
std::vector<Chain> random_chains(Random& random) {
  std::vector<Chain> chains;
  Nanoseconds time = 0;
  for (int i = 0; i < 150; ++i) {
    time += static_cast<Nanoseconds>(random.below(6));
    Chain chain{time, static_cast<VmId>(random.below(kVms)), {random.below(60)}};
    while (chain.blocks.back() > 0) chain.blocks.push_back((chain.blocks.back() - 1) / 2);
    std::ranges::reverse(chain.blocks);
    chains.push_back(std::move(chain));
  }
  return chains;
}

Accesses accesses_of(const std::vector<Chain>& chains) {
  std::vector<naive::Row> rows;
  for (const auto& [time, vm, blocks] : chains) {
    for (const std::uint64_t block : blocks) {
      rows.push_back({time, vm, {block}, Op::kRead, -1, kBlockBytes / 2});
    }
    for (std::size_t i = blocks.size(); i-- > 0;) {
      rows.push_back({time, vm, {blocks[i]}, Op::kWrite, -1, kBlockBytes});
    }
  }
  return naive::intern(rows, kVms);
}

// Return the blocks of cached prefixes in a cache of this size.
Count naive_hits(const std::vector<Chain>& chains, std::size_t capacity) {
  std::list<std::uint64_t> cache;  // most recent first
  Count hits = 0;
  for (const Chain& chain : chains) {
    for (const std::uint64_t block : chain.blocks) {
      if (std::ranges::find(cache, block) == cache.end()) break;
      ++hits;
    }
    for (std::size_t i = chain.blocks.size(); i-- > 0;) {
      cache.remove(chain.blocks[i]);
      cache.push_front(chain.blocks[i]);
      if (cache.size() > capacity) cache.pop_back();
    }
  }
  return hits;
}

std::vector<Chain> chosen(const std::vector<Chain>& chains, VmId vm, Nanoseconds begin,
                          Nanoseconds end) {
  std::vector<Chain> of;
  for (const Chain& chain : chains) {
    if (chain.vm == vm && begin <= chain.time && chain.time < end) of.push_back(chain);
  }
  return of;
}

Count blocks_of(const std::vector<Chain>& chains) {
  return std::accumulate(chains.begin(), chains.end(), Count{0}, [](Count sum, const Chain& of) {
    return sum + static_cast<Count>(of.blocks.size());
  });
}

// Compares what it observes with naive replays of the last period.
class Checking final : public System {
 public:
  explicit Checking(const std::vector<Chain>& chains) : chains_(chains) {}

  std::vector<Timer> timers() const override { return {{.name = "t", .clock = {kPeriod}}}; }
  std::vector<Meter> meters() const override {
    return {{.what = CurveMeter{}}, {.what = DistinctMeter{}}};
  }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    const Machine machine{.tiers = {{Device{}, kVms * kSize}}, .backend = Device{}};
    Allocation targets(1, kVms);
    for (std::size_t vm = 0; vm < kVms; ++vm) targets.at(0, vm) = kSize;
    return make_divided_lru(machine, trace, targets, {.mode = ResizeMode::kEager});
  }
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    const Nanoseconds begin = chains_.front().time + static_cast<Nanoseconds>(decisions) * kPeriod;
    for (VmId vm = 0; vm < kVms; ++vm) {
      const std::vector<Chain> of = chosen(chains_, vm, begin, begin + kPeriod);
      const RunningCurve& curve = seen.meter("curve").curves[vm];
      for (std::size_t size = 0; size < 40; ++size) {
        EXPECT_EQ(curve.hits(static_cast<Count>(size)), naive_hits(of, size)) << size;
      }
      EXPECT_EQ(curve.accesses(), blocks_of(of));
      EXPECT_EQ(seen.since[vm].accesses, blocks_of(of));
      EXPECT_EQ(seen.since[vm].writes, 0);
      EXPECT_EQ(seen.counters[vm].accesses,
                blocks_of(chosen(chains_, vm, chains_.front().time, begin + kPeriod)));
    }
    ++decisions;
    return std::nullopt;
  }

  std::size_t decisions = 0;

 private:
  const std::vector<Chain>& chains_;
};

TEST(LookupSystem, CountsThePrefixHitsOfChains) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Chain> chains = random_chains(random);
    const Accesses trace = accesses_of(chains);
    const auto checking = std::make_shared<Checking>(chains);
    LookupSystem system(checking);
    const auto measured = characterise(trace, meter_specs(system));
    ASSERT_TRUE(measured.ok()) << measured.status();
    const Cuts cuts{0, trace.request_count()};
    auto result = run(trace, system, *measured, cuts);
    ASSERT_TRUE(result.ok()) << result.status();
    system.remove_touches(*result);
    EXPECT_GT(checking->decisions, 2U);
    for (VmId vm = 0; vm < kVms; ++vm) {
      const VmCounters& counted = result->intervals[0][vm];
      const std::vector<Chain> of = chosen(chains, vm, 0, chains.back().time + 1);
      const Count hits = naive_hits(of, kSize);
      EXPECT_EQ(counted.accesses, blocks_of(of));
      EXPECT_EQ(counted.requests, blocks_of(of));
      EXPECT_EQ(counted.tiers[0].hits, hits);
      EXPECT_EQ(counted.request_hits, hits);
      EXPECT_EQ(counted.misses, blocks_of(of) - hits);
      EXPECT_EQ(counted.bytes, blocks_of(of) * kBlockBytes / 2);
      EXPECT_EQ(counted.byte_hits, hits * kBlockBytes / 2);
      EXPECT_EQ(counted.backend_reads, counted.misses);
      EXPECT_EQ(counted.backend_writes, 0);
      EXPECT_EQ(counted.reads_served.blocks[0], hits);
      EXPECT_EQ(counted.writes_served, Served{});
    }
  }
}

}  // namespace
}  // namespace mcsim
