// Trusts: the replay, compared with predicted hits; lists of blocks by recency, one for each VM, in
// every division.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <list>
#include <map>
#include <numeric>

#include "core/engine/run/run.hpp"
#include "policies/allocation/all.hpp"
#include "policies/allocation/latency.hpp"
#include "tests/support/naive_meters.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using testing::machine_of;
using testing::make;
using testing::random_trace;
using testing::run_once;

// A system that remembers what it decided, warming up included.
class Recorded final : public System {
 public:
  explicit Recorded(std::unique_ptr<System> system) : system_(std::move(system)) {}

  std::vector<Timer> timers() const override { return system_->timers(); }
  std::vector<Meter> meters() const override { return system_->meters(); }
  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    return system_->make_host(trace);
  }
  absl::StatusOr<std::optional<Decision>> decide(const Observation& seen) override {
    auto decision = system_->decide(seen);
    if (decision.ok() && *decision) {
      decisions.push_back(**decision);
      in_interval[seen.interval] = **decision;
    }
    return decision;
  }

  std::vector<Decision> decisions;
  std::map<std::size_t, Decision> in_interval;

 private:
  std::unique_ptr<System> system_;
};

// Hits by tier, of all VMs over the whole run; for latency those of reads.
std::vector<Count> hits(const RunResult& result, bool reads_alone = false) {
  std::vector<Count> sum(result.intervals[0][0].tiers.size(), 0);
  for (const auto& interval : result.intervals) {
    for (const VmCounters& vm : interval) {
      for (std::size_t k = 0; k < sum.size(); ++k) {
        sum[k] += vm.tiers[k].hits - (reads_alone ? vm.tiers[k].write_hits : 0);
      }
    }
  }
  return sum;
}

class HindsightOn : public ::testing::TestWithParam<std::tuple<std::vector<Count>, std::string>> {
 protected:
  // Utility of the hits of a replay, and the predicted one.
  void expect_as_predicted(const Accesses& trace, std::size_t from) {
    const auto& [capacities, objective] = GetParam();
    Machine machine = machine_of(capacities);
    machine.backend.read_ns = 1e9;
    for (const Count grid : {10'000, 7}) {
      Recorded system(make("hindsight", {{"objective", objective}, {"grid", grid}}, machine));
      const RunResult result = run_once(trace, system, {from, trace.request_count()});
      const auto found = hits(result, objective == "latency");
      ASSERT_EQ(system.decisions.size(), 1U);
      const Decision& decision = system.decisions[0];
      double worth = 0;
      for (std::size_t k = 0; k < found.size(); ++k) {
        const double saved = machine.backend.read_ns - machine.tiers[k].device.read_ns;
        worth += static_cast<double>(found[k]) * (objective == "hits" ? 1.0 : saved);
      }
      EXPECT_NEAR(decision.objective, worth, 1e-9 * worth);
      if (objective == "hits") {
        EXPECT_EQ(decision.objective, worth);
      }
      EXPECT_GE(decision.upper_bound, worth * (1 - 1e-12));
      if (grid == 10'000 && objective == "hits") {
        EXPECT_EQ(decision.upper_bound, worth);
      }

      const auto equal = make("static", {}, machine);
      const auto others = hits(run_once(trace, *equal, {from, trace.request_count()}));
      if (objective == "hits") {
        EXPECT_LE(std::accumulate(others.begin(), others.end(), Count{0}), decision.upper_bound);
      }
    }
  }
};

TEST_P(HindsightOn, ATraceHitsWhatItSaid) {
  for (const std::uint64_t seed : {1, 2, 3})
    expect_as_predicted(random_trace(5'000, 4, 150, seed), 0);
}

TEST_P(HindsightOn, AWarmedUpTraceHitsWhatItSaid) {
  for (const std::uint64_t seed : {4, 5}) {
    const Accesses trace = testing::with_warm_up(3, 900, seed);
    expect_as_predicted(trace, trace.warm_up);
  }
}

using naive::Row;

// Short random traces of one to three VMs with writes and discards.
struct SmallTrace {
  static constexpr Count kMost = 12;  // blocks of a cache

  std::size_t vms;
  std::vector<Row> rows;
  Accesses trace;

  explicit SmallTrace(Random& random) : SmallTrace(random, 1 + random.below(3)) {}
  SmallTrace(Random& random, std::size_t vm_count) : vms(vm_count) {
    const std::uint64_t footprint = 1 + random.below(9);
    Nanoseconds time = 0;
    for (std::uint64_t left = 20 + random.below(100); left-- > 0;) {
      Row row{time, static_cast<VmId>(random.below(vms)), {}};
      row.op = random.below(3) == 0 ? Op::kWrite : Op::kRead;
      row.blocks.push_back(random.below(footprint));
      if (random.below(3) == 0) row.blocks.push_back(row.blocks[0] + 1);
      time += static_cast<Nanoseconds>(random.below(3));
      rows.push_back(std::move(row));
    }
    rows = naive::with_discards(std::move(rows), random, vms);
    trace = naive::intern(rows, vms);
    for (std::size_t vm = 0; vm < vms; ++vm) trace.vms[vm].name = "vm" + std::to_string(vm);
  }

  std::size_t first_at(Nanoseconds time) const {
    const auto found = std::ranges::find_if(rows, [&](const Row& row) { return row.time >= time; });
    return static_cast<std::size_t>(found - rows.begin());
  }

  // Hits of the requests in [first, end) in a list of the VM's blocks; of reads if they alone
  // count.
  Count hits(VmId vm, Count capacity, std::size_t first, std::size_t end, bool around,
             bool reads_alone = false) const {
    std::list<std::uint64_t> cache;
    Count hits = 0;
    for (std::size_t r = 0; r < end; ++r) {
      for (const auto& [of, block] : rows[r].discards) {
        if (of == vm) cache.remove(block);
      }
      if (rows[r].vm != vm) continue;
      const bool reads = rows[r].op == Op::kRead;
      for (const std::uint64_t block : rows[r].blocks) {
        const bool hit = cache.remove(block) > 0;
        if (!reads && around) continue;
        hits += hit && r >= first && (reads || !reads_alone) ? 1 : 0;
        cache.push_front(block);
        if (std::cmp_greater(cache.size(), capacity)) cache.pop_back();
      }
    }
    return hits;
  }

  // The most hits of all divisions of a cache.
  Count best(Count capacity, std::size_t first, std::size_t end, bool around,
             bool reads_alone = false) const {
    std::vector<Count> best(static_cast<std::size_t>(capacity) + 1, 0);  // by blocks in use
    for (VmId vm = 0; vm < vms; ++vm) {
      std::vector<Count> of_vm;
      for (Count c = 0; c <= capacity; ++c) {
        of_vm.push_back(hits(vm, c, first, end, around, reads_alone));
      }
      for (std::size_t used = best.size(); used-- > 0;) {
        Count most = 0;
        for (std::size_t own = 0; own <= used; ++own) {
          most = std::max(most, best[used - own] + of_vm[own]);
        }
        best[used] = most;
      }
    }
    return best.back();
  }
};

constexpr std::array kModes{"through", "back", "around"};

TEST(Hindsight, HitsAsMuchAsTheBestDivisionOfRandomTraces) {
  Random random(77);
  int warm = 0;
  for (int round = 0; round < 500; ++round) {
    SCOPED_TRACE(round);
    const SmallTrace small(random);
    const bool reads_alone = random.below(4) == 0;
    const std::string writes = kModes[random.below(3)];
    Machine machine = machine_of({1 + static_cast<Count>(random.below(SmallTrace::kMost))});
    const Count capacity = machine.tiers[0].capacity_blocks;
    machine.backend.read_ns = machine.tiers[0].device.read_ns + 1;
    const Nanoseconds last = small.rows.back().time;
    const Nanoseconds warm_up =
        random.below(2) == 0 ? 0 : static_cast<Nanoseconds>(random.below(last + 1));
    warm += warm_up > 0 ? 1 : 0;
    const std::size_t first = small.first_at(warm_up);
    const std::size_t end = small.rows.size();
    Recorded system(make("hindsight",
                         {{"objective", reads_alone ? "latency" : "hits"}, {"writes", writes}},
                         machine, 1'000, warm_up));
    const RunResult result = run_once(small.trace, system, {first, end});
    const auto best =
        static_cast<double>(small.best(capacity, first, end, writes == "around", reads_alone));
    ASSERT_EQ(system.decisions.size(), 1U);
    EXPECT_EQ(system.decisions[0].objective, best);
    EXPECT_EQ(system.decisions[0].upper_bound, best);
    EXPECT_EQ(static_cast<double>(hits(result, reads_alone)[0]), best);
    const auto fixed = make("static", {{"writes", writes}}, machine);
    EXPECT_LE(hits(run_once(small.trace, *fixed, {first, end}), reads_alone)[0], best);
    if (HasFailure()) return;
  }
  EXPECT_GT(warm, 200);
}

// In several tiers that are an exclusive chain, all space together is one cache.
TEST(Hindsight, BoundsTheDivisionsOfExclusiveChains) {
  Random random(78);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    const SmallTrace small(random);
    const Machine machine = machine_of(
        {1 + static_cast<Count>(random.below(5)), 1 + static_cast<Count>(random.below(7))});
    const Count capacity = machine.tiers[0].capacity_blocks + machine.tiers[1].capacity_blocks;
    const std::size_t end = small.rows.size();
    const std::string writes = kModes[random.below(3)];
    Recorded system(make("hindsight", {{"writes", writes}}, machine));
    const std::vector<Count> found = hits(run_once(small.trace, system, {0, end}));
    const Count best = small.best(capacity, 0, end, writes == "around");
    EXPECT_EQ(found[0] + found[1], best);
    EXPECT_EQ(system.decisions.at(0).upper_bound, static_cast<double>(best));
    if (HasFailure()) return;
  }
}

// A block that is read and discarded a hundred times beside one that is read fifty times.
TEST(Hindsight, DoesNotCountDiscardedBlocks) {
  std::vector<Row> rows;
  for (Nanoseconds i = 0; i < 100; ++i) {
    Row& row = rows.emplace_back(Row{2 * i, 0, {0}});
    if (i > 0) row.discards.emplace_back(0, 0);
    if (i % 2 == 0) rows.push_back({2 * i + 1, 1, {0}});
  }
  const Accesses trace = naive::intern(rows, 2);
  Recorded system(make("hindsight", {}, machine_of({1})));
  const RunResult result = run_once(trace, system, {0, rows.size()});
  EXPECT_EQ(system.decisions.at(0).upper_bound, 49);
  EXPECT_EQ(hits(result)[0], 49);
}

TEST(LatencyModel, PredictsWhatAReplayMeasuresUnderEveryWriteMode) {
  Random random(80);
  for (int round = 0; round < 300; ++round) {
    const std::string writes = kModes[random.below(3)];
    SCOPED_TRACE(::testing::Message() << round << ", " << writes);
    const SmallTrace small(random, 1);
    std::vector<Count> capacities(1 + random.below(2));
    for (Count& blocks : capacities) blocks = 1 + static_cast<Count>(random.below(5));
    Machine machine = machine_of(capacities);
    machine.backend.write_ns = 8e6;
    DataPathParams path;
    path.writes = writes;
    const LatencyModel model = LatencyModel::make(machine, small.trace.vms, writes).value();
    const Meter meter =
        LatencyModel::read_meters(machine, path, {.scope = DistanceScope::kCumulative}).back();
    const MeterSpec spec{.clock = {.period = kSecond}, .what = meter.what};
    const Characterised found = characterise(small.trace, {&spec, 1}).value();
    const HitCurve reads = curve_at(found.meters[0], 2, 0);
    const auto accesses = static_cast<double>(small.trace.access_count());
    const AccessMix mix{.write_share = 1 - static_cast<double>(reads.accesses()) / accesses,
                        .read_ratio = [&](Count blocks) { return reads.ratio(blocks); }};
    const auto fixed = make("static", {{"writes", writes}}, machine);
    const RunResult result = run_once(small.trace, *fixed, {0, small.rows.size()});
    const double measured = mean_ns(result.intervals[0][0], machine, "vm0");
    EXPECT_NEAR(model.mean_ns(0, model.capacity(), mix), measured, 1e-9 * measured);
    if (HasFailure()) return;
  }
}

// Its divisions are those of the curves of the next interval, under every write mode.
TEST(Clairvoyant, PredictsTheBestDivisionOfEachInterval) {
  Random random(79);
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const SmallTrace small(random);
    const bool around = random.below(2) == 0;
    const Count capacity = 1 + static_cast<Count>(random.below(SmallTrace::kMost));
    const auto interval = static_cast<Nanoseconds>(7 + random.below(40));
    Recorded system(make("clairvoyant", {{"writes", around ? "around" : "back"}},
                         machine_of({capacity}), interval));
    const Cuts cuts = aligned_cuts(small.trace.request_time, interval);
    run_once(small.trace, system, cuts);
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      const Count best = small.best(capacity, cuts[k], cuts[k + 1], around);
      const auto decided = system.in_interval.find(k);
      EXPECT_EQ(decided == system.in_interval.end() ? 0 : decided->second.objective,
                static_cast<double>(best))
          << k;
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tiers, HindsightOn,
    ::testing::Combine(::testing::Values(std::vector<Count>{60}, std::vector<Count>{20, 55},
                                         std::vector<Count>{0, 40}, std::vector<Count>{9, 16, 41}),
                       ::testing::Values("hits", "latency")));

}  // namespace
}  // namespace mcsim
