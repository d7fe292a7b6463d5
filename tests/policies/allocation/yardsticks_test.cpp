// Trusts: the replay, compared with predicted hits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/engine/run/run.hpp"
#include "policies/allocation/all.hpp"
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
    if (decision.ok() && *decision) decisions.push_back(**decision);
    return decision;
  }

  std::vector<Decision> decisions;

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

INSTANTIATE_TEST_SUITE_P(
    Tiers, HindsightOn,
    ::testing::Combine(::testing::Values(std::vector<Count>{60}, std::vector<Count>{20, 55},
                                         std::vector<Count>{0, 40}, std::vector<Count>{9, 16, 41}),
                       ::testing::Values("hits", "latency")));

}  // namespace
}  // namespace mcsim
