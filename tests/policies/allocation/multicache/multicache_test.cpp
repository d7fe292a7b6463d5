// Trusts: theorems about the published utility (as properties over random instances), its worked
// toys, and arithmetic on hand-made curves.
#include "policies/allocation/multicache/multicache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/base/random.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/all.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;
using testing::machine_of;

// A curve with ratios[c] = H(c) out of `accesses`; ratios[0] is 0.
RunningCurve curve_of(const std::vector<double>& ratios, Count accesses) {
  std::vector<DistanceCount> counts;
  Count hit = 0;
  for (std::size_t c = 1; c < ratios.size(); ++c) {
    const auto upto = static_cast<Count>(ratios[c] * static_cast<double>(accesses) + 0.5);
    if (upto > hit) {
      counts.push_back({static_cast<std::uint32_t>(c - 1), static_cast<std::uint32_t>(upto - hit)});
    }
    hit = upto;
  }
  RunningCurve curve;
  curve.add(counts);
  curve.set_accesses(accesses);
  return curve;
}

struct Vm {
  std::vector<double> ratios;
  Count accesses = 1'000;
  double reuse_intensity = 0;
  Count window_unique = 0;
  bool is_quiet = false;  // its accesses are of earlier intervals
};

Decision decide(const std::string& name, ParamMap params, const Machine& machine,
                const std::vector<Vm>& vms, const std::string& optimizer = "exact",
                Allocation current = {}, std::shared_ptr<Optimizer> given = nullptr) {
  std::vector<RunningCurve> curves;
  std::vector<Intensity> intensities;
  std::vector<VmCounters> since(vms.size());
  Accesses trace;
  for (std::size_t v = 0; v < vms.size(); ++v) {
    curves.push_back(curve_of(vms[v].ratios, vms[v].accesses));
    since[v].accesses = vms[v].is_quiet ? 0 : vms[v].accesses;
    intensities.push_back({.value = vms[v].reuse_intensity, .window_unique = vms[v].window_unique});
    trace.vms.push_back({.name = "vm" + std::to_string(v)});
  }
  params.try_emplace("grid", std::int64_t{1'000});
  auto system = system_registry().make(name, params, {.machine = machine}).value();
  if (given == nullptr) given = optimizer_registry().make(optimizer, {}, {}).value();
  EXPECT_TRUE(system->use_optimizer(given).ok());
  EXPECT_TRUE(system->make_host(trace).ok());
  if (current.tiers() == 0) current = Allocation(machine.tiers.size(), vms.size());
  const std::vector<Reading> meters{{.name = "curve", .curves = curves},
                                    {.name = "intensity", .intensities = intensities}};
  auto decision =
      system->decide({.meters = meters, .counters = {}, .since = since, .current = current});
  EXPECT_TRUE(decision.ok()) << decision.status();
  return decision.ok() && *decision ? **decision : Decision{.targets = current};
}

// Multi-Cache's allocation of the only tier.
std::vector<Count> given(const ParamMap& params, Count capacity, const std::vector<Vm>& vms) {
  const Decision decision = decide("multicache", params, machine_of({capacity}), vms);
  const auto tier = decision.targets->tier(0);
  return {tier.begin(), tier.end()};
}

const Vm kToyA{.ratios = {0, .4, .5, .5}};
const Vm kToyB{.ratios = {0, .1, .3, .6}};

TEST(MultiCache, TwoVmToy) {
  EXPECT_THAT(given({}, 3, {kToyA, kToyB}), ElementsAre(1, 2));
  EXPECT_THAT(given({{"priorities", PerVm{{"vm1", 3.0}}}}, 3, {kToyA, kToyB}), ElementsAre(0, 3));
}

// A machine on which a hit in tier 1 is worth `ratio` times one in tier 2, and one
// in tier 2 exactly 1.
Machine worth_ratio(double ratio) {
  Machine machine = machine_of({1, 2});
  machine.backend.read_ns = 1'000;
  machine.tiers[1].device.read_ns = 1'000;
  machine.tiers[0].device.read_ns = 1'000 / ratio;
  return machine;
}

TEST(MultiCache, LayeredLosesToJointWithoutConcavity) {
  const std::vector<Vm> vms{{.ratios = {0, .5, .5, .5}}, {.ratios = {0, 0, 0, 1}}};
  const ParamMap joint{{"grid", std::int64_t{1}}};
  EXPECT_NEAR(decide("multicache", {}, worth_ratio(1.2), vms).objective, 0.6, 1e-9);
  EXPECT_NEAR(decide("multicache-joint", joint, worth_ratio(1.2), vms).objective, 1.0, 1e-9);
  EXPECT_NEAR(decide("multicache", {}, worth_ratio(3), vms).objective, 1.5, 1e-9);
  EXPECT_NEAR(decide("multicache-joint", joint, worth_ratio(3), vms).objective, 1.5, 1e-9);
}

// A concave curve over `size` blocks: decreasing steps in thousandths.
std::vector<double> concave(std::size_t size, Random& random) {
  std::vector<double> steps(size);
  for (double& step : steps) step = static_cast<double>(random.below(1'000 / size));
  std::ranges::sort(steps, std::ranges::greater());
  std::vector<double> ratios{0};
  for (const double step : steps) ratios.push_back(ratios.back() + step / 1'000);
  return ratios;
}

TEST(MultiCache, LayeredEqualsJointOnConcaveCurves) {
  Random random(17);
  for (int round = 0; round < 40; ++round) {
    std::vector<Vm> vms(2 + random.below(2));
    for (Vm& vm : vms) vm.ratios = concave(12, random);
    const Machine machine = machine_of({3, 6});
    const double layered = decide("multicache", {}, machine, vms).objective;
    const double joint =
        decide("multicache-joint", {{"grid", std::int64_t{3}}}, machine, vms).objective;
    EXPECT_NEAR(layered, joint, 1e-9 * joint);
  }
}

TEST(MultiCache, ReuseIntensityAndLatenciesCannotChangeTheLiteralOptimum) {
  Random random(23);
  for (int round = 0; round < 40; ++round) {
    std::vector<Vm> vms(3);
    for (Vm& vm : vms) vm.ratios = concave(15, random);
    const Machine machine = machine_of({4, 9});
    const Decision plain = decide("multicache", {}, machine, vms);
    Machine other = machine;
    other.tiers[0].device.read_ns *= 3;
    other.tiers[1].device.read_ns /= 7;
    for (Vm& vm : vms) vm.reuse_intensity = random.uniform();
    EXPECT_EQ(decide("multicache", {}, other, vms).targets, plain.targets);
  }
}

TEST(MultiCache, LinearReuseIntensityActsAsTheTextIntends) {
  // Equal curves; only the second VM re-uses its blocks right now.
  const Vm calm{.ratios = {0, .001, .002, .003, .004}, .reuse_intensity = 0, .window_unique = 4};
  Vm bursty = calm;
  bursty.reuse_intensity = 0.9;
  Machine machine = machine_of({4});
  machine.backend.read_ns = 100;
  machine.tiers[0].device.read_ns = 100;
  const ParamMap linear{{"ri_mode", std::string("linear")}};
  EXPECT_THAT(decide("multicache", {}, machine, {calm, bursty}).targets->tier(0),
              ElementsAre(2, 2));
  EXPECT_THAT(decide("multicache", linear, machine, {calm, bursty}).targets->tier(0),
              ElementsAre(0, 4));
}

TEST(MultiCache, GatedReuseIntensityBuysTheFirstBlock) {
  const Vm useful{.ratios = {0, .2, .4, .6}};
  const Vm bursty{.ratios = {0, 0, 0, 0}, .reuse_intensity = 0.9};
  Machine machine = machine_of({3});
  machine.backend.read_ns = 100;
  machine.tiers[0].device.read_ns = 100;
  EXPECT_THAT(decide("multicache", {{"ri_mode", std::string("gated")}}, machine, {useful, bursty})
                  .targets->tier(0),
              ElementsAre(2, 1));
}

TEST(MultiCache, RateWeighsHitsInsteadOfRatios) {
  const Vm quiet{.ratios = {0, .5, .5}, .accesses = 10};
  const Vm busy{.ratios = {0, .4, .4}, .accesses = 10'000};
  EXPECT_THAT(given({}, 1, {quiet, busy}), ElementsAre(1, 0));
  EXPECT_THAT(given({{"weight", std::string("rate")}}, 1, {quiet, busy}), ElementsAre(0, 1));
}

TEST(MultiCache, IdleVmsGiveUpOrKeepTheirSpace) {
  const Vm idle{.ratios = {0}, .accesses = 0};
  const Vm active{.ratios = {0, .1, .2, .3, .4, .5}};
  Allocation current(1, 2);
  current.at(0, 0) = 3;
  EXPECT_THAT(given({}, 5, {idle, active}), ElementsAre(0, 5));
  EXPECT_THAT(decide("multicache", {{"idle", std::string("keep")}}, machine_of({5}), {idle, active},
                     "exact", current)
                  .targets->tier(0),
              ElementsAre(3, 2));
}

// Cumulative curves have accesses of VMs that are idle now. The authors' code goes by the curves.
TEST(MultiCache, AVmWithoutAccessesInTheIntervalIsIdleUnlessItsCurveCounts) {
  const Vm quiet{.ratios = {0, .1, .2, .3, .4, .5}, .is_quiet = true};
  const Vm active{.ratios = {0, .1, .2, .3, .4, .5}};
  const ParamMap cumulative{{"distance_scope", std::string("cumulative")}};
  EXPECT_THAT(given(cumulative, 5, {quiet, active}), ElementsAre(0, 5));
  ParamMap keeps = cumulative;
  keeps["idle"] = std::string("keep");
  Allocation current(1, 2);
  current.at(0, 0) = 3;
  EXPECT_THAT(decide("multicache", keeps, machine_of({5}), {quiet, active}, "exact", current)
                  .targets->tier(0),
              ElementsAre(3, 2));
  ParamMap by_curve = cumulative;
  by_curve["idle"] = std::string("curve");
  EXPECT_THAT(given(by_curve, 10, {quiet, active}), ElementsAre(5, 5));
  const ParamMap legacy{{"legacy", true}, {"grid", std::int64_t{10}}};
  EXPECT_THAT(given(legacy, 8, {quiet, active}), ElementsAre(4, 4));
}

TEST(MultiCache, MinimumShareIsGranted) {
  const Vm useless{.ratios = {0, 0, 0, 0, 0, 0, 0, 0, 0}};
  const Vm useful{.ratios = {0, .1, .2, .3, .4, .5, .6, .7, .8}};
  EXPECT_THAT(given({{"minimum_share", 0.5}}, 8, {useless, useful}), ElementsAre(2, 6));
}

TEST(MultiCache, SpaceThatIsWorthNothingIsSpreadInProportionToTheRest) {
  const Vm scanning{.ratios = {0, 0, 0}};
  const Vm useful{.ratios = {0, .1, .2, .2}};
  const Vm twice{.ratios = {0, .1, .2, .3, .4}};
  EXPECT_THAT(given({}, 12, {scanning, useful, twice}), ElementsAre(0, 4, 8));
  EXPECT_THAT(
      decide("multicache-joint", {}, machine_of({12}), {scanning, useful, twice}).targets->tier(0),
      ElementsAre(0, 4, 8));
}

TEST(MultiCache, EveryBlockIsGranted) {
  Random random(5);
  for (const char* optimizer : {"annealing", "greedy", "lookahead", "exact"}) {
    std::vector<Vm> vms(3);
    for (Vm& vm : vms) vm.ratios = concave(40, random);
    const ParamMap coarse{{"grid", std::int64_t{10}}};
    const Decision decision = decide("multicache", coarse, machine_of({23, 57}), vms, optimizer);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto tier = decision.targets->tier(k);
      EXPECT_EQ(std::accumulate(tier.begin(), tier.end(), Count{0}), k == 0 ? 23 : 57) << optimizer;
    }
  }
}

TEST(MultiCache, LegacyFillsTheTierInProportionAndIgnoresPrioritiesAndLatencies) {
  Random one(1);
  Random two(2);
  const std::vector<Vm> vms{{.ratios = concave(60, one)}, {.ratios = concave(60, two)}};
  const ParamMap legacy{{"legacy", true}, {"grid", std::int64_t{200}}};
  const Decision decision =
      decide("multicache", legacy, machine_of({20, 60}), vms, "annealing-legacy");
  for (std::size_t k = 0; k < 2; ++k) {
    const auto tier = decision.targets->tier(k);
    const Count sum = std::accumulate(tier.begin(), tier.end(), Count{0});
    EXPECT_LE(sum, k == 0 ? 20 : 60);
    EXPECT_GE(sum, (k == 0 ? 20 : 60) - 2);
  }
  ParamMap favoured = legacy;
  favoured["priorities"] = PerVm{{"vm0", 100.0}};
  Machine fast = machine_of({20, 60});
  fast.tiers[0].device.read_ns = 1;
  EXPECT_EQ(decide("multicache", favoured, fast, vms, "annealing-legacy").targets,
            decision.targets);
}

// Allocates nothing.
class Nothing final : public Optimizer {
  absl::StatusOr<Solution> solve(const AllocationProblem& problem) override {
    Solution solution;
    for (std::size_t v = 0; v < problem.vms(); ++v) solution.choice.push_back({problem.low(v, 0)});
    return solution;
  }
};

TEST(MultiCache, LegacyKeepsTheTargetsWhenTheSolutionIsEmpty) {
  Allocation current(2, 2);
  current.at(0, 0) = 7;
  EXPECT_EQ(decide("multicache", {{"legacy", true}}, machine_of({20, 60}), {kToyA, kToyB}, "",
                   current, std::make_shared<Nothing>())
                .targets,
            current);
}

TEST(MultiCache, LegacyAsksForTheAuthorsMeasurements) {
  auto system = system_registry().make("multicache", {{"legacy", true}}, {}).value();
  EXPECT_TRUE(system->timers().at(0).clock.drifting);
  const std::vector<Meter> meters = system->meters();
  ASSERT_EQ(meters.size(), 2U);
  EXPECT_EQ(std::get<CurveMeter>(meters[0].what),
            (CurveMeter{.scope = DistanceScope::kCumulative, .distance_limit = 1'100'000}));
  EXPECT_EQ(std::get<IntensityMeter>(meters[1].what),
            (IntensityMeter{.window = {600 * kSecond}, .unique = UniqueCounter::kHyperLogLog}));
  const ExpandOptions view = system->trace_view({});
  EXPECT_EQ(view.key, BlockKey::kByteOffset);
  EXPECT_TRUE(view.whole_seconds);
  EXPECT_EQ(system->default_optimizer(), "annealing-legacy");
}

}  // namespace
}  // namespace mcsim
