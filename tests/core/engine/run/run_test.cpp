// Trusts: when timers ring and what came before, counted from the trace by the definition; the
// laws of controllers: what must give the same run, and what must change nothing.
#include "core/engine/run/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/naive_meters.hpp"
#include "tests/support/workloads.hpp"

namespace mcsim {
namespace {

using naive::intern;
using naive::Row;
using testing::machine_of;
using testing::numbers;

constexpr VmId kVms = 3;

// A copy of a reading.
struct Shown {
  std::vector<HitCurve> curves;
  std::vector<Load> loads;
  std::vector<Count> distinct;
  std::vector<Intensity> intensities;
  std::vector<ClassCounts> classes;

  explicit Shown(const Reading& of)
      : loads(of.loads.begin(), of.loads.end()),
        distinct(of.distinct.begin(), of.distinct.end()),
        intensities(of.intensities.begin(), of.intensities.end()),
        classes(of.classes.begin(), of.classes.end()) {
    for (const RunningCurve& curve : of.curves) curves.push_back(curve.curve());
  }
  friend bool operator==(const Shown&, const Shown&) = default;
};

struct Ring {
  std::size_t timer;
  std::size_t interval;
  Nanoseconds now;
  std::vector<Shown> meters;
  std::vector<VmCounters> counters;
  std::vector<VmCounters> since;
  Allocation current;
  std::vector<bool> departed;
  std::vector<bool> arrived;
};

using Answer = absl::StatusOr<std::optional<Decision>>;
using Rule = std::function<Answer(const Observation&)>;

// Records observations, and decides by a rule.
class Scripted final : public System {
 public:
  Scripted(std::vector<Timer> timers, std::vector<Meter> meters, Rule rule = nullptr)
      : timers_(std::move(timers)), meters_(std::move(meters)), rule_(std::move(rule)) {}

  std::vector<Timer> timers() const override { return timers_; }
  std::vector<Meter> meters() const override { return meters_; }
  Actions actions() const override { return decides; }
  Actions host_supports() const override { return kOfHost; }

  absl::StatusOr<std::unique_ptr<Host>> make_host(const Accesses& trace) override {
    Allocation targets(2, trace.vms.size());
    for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
      targets.at(0, vm) = 4;
      targets.at(1, vm) = 8;
    }
    MCSIM_ASSIGN_OR_RETURN(
        auto host, make_divided_lru(machine(), trace, targets, {.mode = ResizeMode::kEager},
                                    {.modes = std::vector(trace.vms.size(), WriteMode::kBack)}));
    return wrap_ ? wrap_(std::move(host)) : std::move(host);
  }

  Answer decide(const Observation& seen) override {
    Ring& ring = rings.emplace_back(Ring{
        .timer = seen.timer,
        .interval = seen.interval,
        .now = seen.now,
        .meters = {},
        .counters = {seen.counters.begin(), seen.counters.end()},
        .since = {seen.since.begin(), seen.since.end()},
        .current = seen.current,
        .departed = seen.departed,
        .arrived = seen.arrived,
    });
    for (const Reading& reading : seen.meters) ring.meters.emplace_back(reading);
    if (!rule_) return std::nullopt;
    return rule_(seen);
  }

  static Machine machine() { return machine_of({12, 24}); }
  void wrap(std::function<std::unique_ptr<Host>(std::unique_ptr<Host>)> wrap) {
    wrap_ = std::move(wrap);
  }

  static constexpr Actions kOfHost{Action::kTargets, Action::kWriteModes, Action::kAdmission};

  Actions decides = kOfHost;
  std::vector<Ring> rings;

 private:
  std::vector<Timer> timers_;
  std::vector<Meter> meters_;
  Rule rule_;
  std::function<std::unique_ptr<Host>(std::unique_ptr<Host>)> wrap_;
};

absl::StatusOr<RunResult> try_run(const Accesses& trace, System& system, const Cuts& cuts) {
  MCSIM_ASSIGN_OR_RETURN(const Characterised measured, characterise(trace, meter_specs(system)));
  return run(trace, system, measured, cuts);
}

RunResult run_all(const Accesses& trace, System& system, const Cuts& cuts) {
  auto result = try_run(trace, system, cuts);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

RunResult run_all(const Accesses& trace, System& system) {
  return run_all(trace, system, aligned_cuts(trace.request_time, 500));
}

Timer timer(Nanoseconds period, bool at_start = false, bool drifting = false) {
  return {.name = "timer", .clock = {.period = period, .drifting = drifting}, .at_start = at_start};
}

std::vector<Row> rows_of(Random& random) {
  std::vector<Row> rows;
  while (rows.size() < 100 || rows.back().time - rows.front().time < 1000) {
    rows = naive::random_rows(random, kVms);
  }
  return rows;
}

// The records of a run, equal ones in a row each on its own.
std::vector<DecisionRecord> every_decision(const RunResult& result) {
  std::vector<DecisionRecord> all;
  for (const DecisionRecord& record : result.decisions) {
    all.insert(all.end(), static_cast<std::size_t>(record.times), record);
  }
  return all;
}

// All that is counted, interval by interval and VM by VM.
std::vector<testing::Numbers> numbers(const RunResult& result) {
  std::vector<testing::Numbers> all;
  for (const auto& interval : result.intervals) {
    for (const VmCounters& vm : interval) all.push_back(numbers(vm));
  }
  return all;
}

struct Expected {
  Nanoseconds now;
  std::size_t timer;
  std::size_t requests;  // that came before
};

// By the definition: at the end of every period that ends within the trace, the timer that was
// declared first first.
std::vector<Expected> expected_rings(const std::vector<Row>& rows,
                                     const std::vector<Timer>& timers) {
  const Nanoseconds begin = rows.front().time;
  std::vector<Expected> expected;
  for (std::size_t i = 0; i < timers.size(); ++i) {
    const auto& [period, drifting] = timers[i].clock;
    if (timers[i].at_start) expected.push_back({0, i, 0});
    if (drifting) {
      std::vector<Nanoseconds> times;
      for (const Row& row : rows) times.push_back(row.time);
      for (const std::size_t cut : drifting_cuts(times, period)) {
        if (cut == 0 || cut == rows.size()) continue;
        expected.push_back({times[cut - 1] - begin, i, cut});
      }
      continue;
    }
    for (Nanoseconds now = period; now <= rows.back().time - begin; now += period) {
      const auto before =
          std::ranges::count_if(rows, [&](const Row& row) { return row.time - begin < now; });
      expected.push_back({now, i, static_cast<std::size_t>(before)});
    }
  }
  std::ranges::stable_sort(
      expected, {}, [](const Expected& of) { return std::tuple(of.requests, of.now, of.timer); });
  return expected;
}

// Accesses and writes of a VM in a range of rows.
std::pair<Count, Count> accesses_in(const std::vector<Row>& rows, std::size_t begin,
                                    std::size_t end, VmId vm) {
  Count accesses = 0;
  Count writes = 0;
  for (std::size_t r = begin; r < end; ++r) {
    if (rows[r].vm != vm) continue;
    accesses += static_cast<Count>(rows[r].blocks.size());
    writes += rows[r].op == Op::kWrite ? static_cast<Count>(rows[r].blocks.size()) : 0;
  }
  return {accesses, writes};
}

TEST(Timers, RingInOrderAndSeeWhatCameBefore) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const std::vector<Row> rows = rows_of(random);
    const Accesses trace = intern(rows, kVms);
    std::vector<Timer> timers;
    const auto base = static_cast<Nanoseconds>(20 + random.below(200));
    for (std::size_t i = 1 + random.below(4); i-- > 0;) {
      // Multiples meet.
      timers.push_back(timer(base * static_cast<Nanoseconds>(1 + random.below(4)),
                             random.below(3) == 0, random.below(4) == 0));
    }
    Scripted system(timers, {});
    run_all(trace, system, aligned_cuts(trace.request_time, 1 + round * 13));
    const std::vector<Expected> expected = expected_rings(rows, timers);
    ASSERT_EQ(system.rings.size(), expected.size());
    std::vector<std::size_t> times(timers.size());   // that each rang
    std::vector<std::size_t> before(timers.size());  // requests when it rang last
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Ring& ring = system.rings[i];
      const auto& [now, which, requests] = expected[i];
      ASSERT_EQ(ring.timer, which) << i;
      ASSERT_EQ(ring.now, now) << i;
      EXPECT_EQ(ring.interval, times[which]++);
      for (VmId vm = 0; vm < kVms; ++vm) {
        const auto [all, writes] = accesses_in(rows, 0, requests, vm);
        EXPECT_EQ(ring.counters[vm].accesses, all);
        EXPECT_EQ(ring.counters[vm].writes, writes);
        EXPECT_TRUE(ring.arrived[vm]) << "whether it had accesses or not";
        const auto [since, writes_since] = accesses_in(rows, before[which], requests, vm);
        EXPECT_EQ(ring.since[vm].accesses, since);
        EXPECT_EQ(ring.since[vm].writes, writes_since);
        EXPECT_EQ(ring.since[vm].dirty, ring.counters[vm].dirty) << "a level is as it is";
      }
      before[which] = requests;
    }
  }
}

TEST(Timers, OfEqualTimesTheOneDeclaredFirstIsFirst) {
  const std::vector<Row> rows{{0, 0, {1}}, {10, 0, {1}}, {20, 0, {1}}, {30, 0, {1}}};
  Scripted system({timer(20), timer(10)}, {});
  run_all(intern(rows, 1), system);
  std::vector<std::pair<Nanoseconds, std::size_t>> rang;
  for (const Ring& ring : system.rings) rang.emplace_back(ring.now, ring.timer);
  EXPECT_EQ(rang,
            (std::vector<std::pair<Nanoseconds, std::size_t>>{{10, 1}, {20, 0}, {20, 1}, {30, 1}}));
  EXPECT_EQ(system.rings[0].counters[0].accesses, 1) << "not the access at that time";
}

TEST(Timers, OneOfALongerPeriodThanTheTraceNeverRings) {
  const std::vector<Row> rows{{0, 0, {1}}, {99, 0, {1}}};
  Scripted once({timer(99)}, {});
  run_all(intern(rows, 1), once);
  EXPECT_EQ(once.rings.size(), 1U);
  Scripted never({timer(100)}, {});
  run_all(intern(rows, 1), never);
  EXPECT_EQ(never.rings.size(), 0U);
}

TEST(Timers, AtTheStartNothingHasBeen) {
  Random random(2);
  const std::vector<Row> rows = rows_of(random);
  const TimerClock clock{.period = 200};
  Scripted system({{.name = "sizes", .clock = clock, .at_start = true}},
                  {{CurveMeter{}},
                   {LoadMeter{}},
                   {.what = CurveMeter{.foresight = Foresight::kNext}, .name = "next"},
                   {.what = CurveMeter{.foresight = Foresight::kWhole}, .name = "whole"}});
  const Accesses trace = intern(rows, kVms);
  run_all(trace, system);
  const naive::Meters twin(rows, trace, clock);
  ASSERT_GT(system.rings.size(), 2U);
  const Ring& first = system.rings[0];
  EXPECT_EQ(first.now, 0);
  EXPECT_EQ(first.arrived, std::vector<bool>(kVms, true));
  for (VmId vm = 0; vm < kVms; ++vm) {
    EXPECT_EQ(first.counters[vm].accesses, 0);
    EXPECT_EQ(first.current.at(1, vm), 8);
    EXPECT_EQ(first.meters[0].curves[vm], HitCurve());
    EXPECT_EQ(first.meters[1].loads[vm], Load{});
    EXPECT_EQ(first.meters[2].curves[vm], twin.curve({}, 0, vm));
    EXPECT_EQ(first.meters[3].curves[vm], twin.whole_curve({}, vm));
    EXPECT_EQ(system.rings[1].meters[0].curves[vm], twin.curve({}, 0, vm));
    EXPECT_EQ(system.rings[1].meters[1].loads[vm], twin.load({}, 0, vm));
    EXPECT_EQ(system.rings[1].meters[2].curves[vm], twin.curve({}, 1, vm));
    EXPECT_EQ(system.rings[1].meters[3].curves[vm], twin.whole_curve({}, vm));
  }
}

TEST(Timers, EachMeterIsReadByItsOwn) {
  Random random(3);
  const std::vector<Row> rows = rows_of(random);
  const Accesses trace = intern(rows, kVms);
  Scripted system({timer(300), timer(100)}, {{LoadMeter{}, 0}, {LoadMeter{}, 1, "load of 1"}});
  run_all(trace, system);
  const naive::Meters slow(rows, trace, {.period = 300});
  const naive::Meters fast(rows, trace, {.period = 100});
  for (const Ring& ring : system.rings) {
    const auto slow_rang = static_cast<std::size_t>(ring.now / 300);
    auto fast_rang = static_cast<std::size_t>(ring.now / 100);
    if (ring.timer == 0) --fast_rang;  // its turn comes
    for (VmId vm = 0; vm < kVms; ++vm) {
      EXPECT_EQ(ring.meters[0].loads[vm],
                slow_rang == 0 ? Load{} : slow.load({}, slow_rang - 1, vm));
      EXPECT_EQ(ring.meters[1].loads[vm],
                fast_rang == 0 ? Load{} : fast.load({}, fast_rang - 1, vm));
    }
  }
}

TEST(Run, TellsOfVmsThatCameAndOfThoseThatAreGone) {
  std::vector<Row> rows;
  for (Nanoseconds t = 0; t < 100; ++t) {
    const auto vm = static_cast<VmId>(t < 30 ? 0 : t % 2);
    rows.push_back({t, vm, {static_cast<std::uint64_t>(t % 5)}});
  }
  Accesses trace = intern(rows, kVms);
  trace.vms[1].arrives = 20;  // its first request is at 31; the third has none, and is there
  trace.departures = {{.request = 70, .vm = 0}};
  std::vector<VmId> vms = trace.request_vm.copy();
  std::vector<BlockId> ids = trace.ids.copy();
  std::fill(vms.begin() + 70, vms.begin() + 100, VmId{1});
  std::fill(ids.begin() + 70, ids.begin() + 100, trace.vms[1].first_id);
  trace.request_vm = std::move(vms);
  trace.ids = std::move(ids);
  Scripted system({timer(10)}, {{CurveMeter{.scope = DistanceScope::kCumulative}}, {LoadMeter{}}});
  run_all(trace, system);
  for (const Ring& ring : system.rings) {
    SCOPED_TRACE(ring.now);
    EXPECT_EQ(ring.arrived, (std::vector<bool>{true, ring.now >= 20, true}));
    EXPECT_EQ(ring.departed, (std::vector<bool>{ring.now >= 70, false, false}));
    EXPECT_EQ(ring.current.at(0, 0), ring.now >= 70 ? 0 : 4) << "who is gone has no targets";
    EXPECT_EQ(ring.meters[0].curves[0].accesses() == 0, ring.now >= 70) << "and is forgotten";
    EXPECT_EQ(ring.meters[1].loads[0].accesses == 0, ring.now >= 70);
    EXPECT_GT(ring.since[1].accesses + ring.since[0].accesses, 0);
  }
}

std::optional<Decision> by_demand(const Observation& seen) {
  // Each VM has what it demands, in a mode of its own, and is shut out now and then.
  Allocation targets(2, kVms);
  std::vector<WriteMode> modes;
  std::vector<bool> admits;
  for (VmId vm = 0; vm < kVms; ++vm) {
    const Count demand =
        1 + seen.meter("distinct").distinct[vm] + seen.meter("curve").curves[vm].hits(9);
    targets.at(0, vm) = demand % 5;
    targets.at(1, vm) = demand % 9;
    modes.push_back(static_cast<WriteMode>(demand % 3));
    admits.push_back(demand % 4 != 0);
  }
  return Decision{.targets = targets, .write_modes = modes, .admits = admits};
}

// Requests in intervals 0 and 10 of 500 ns; a decision each 500 ns, the fourth of which acts in
// interval 4.
TEST(Run, ASequenceOfEmptyIntervalsIsOneEntry) {
  const Accesses trace = intern({{.time = 0, .vm = 0, .blocks = {1}},
                                 {.time = 10, .vm = 1, .blocks = {2}},
                                 {.time = 5'010, .vm = 0, .blocks = {1}}},
                                kVms);
  Scripted same({timer(500)}, {}, [](const Observation&) -> Answer { return Decision{}; });
  const RunResult unchanged = run_all(trace, same);
  EXPECT_EQ(unchanged.lengths, (std::vector<Count>{1, 9, 1}));
  ASSERT_EQ(unchanged.intervals.size(), 3U);
  EXPECT_EQ(unchanged.intervals[1][0].accesses, 0);
  EXPECT_EQ(unchanged.intervals[1][0].tiers[0].occupancy, 1);
  EXPECT_EQ(same.rings.size(), 10U);
  ASSERT_EQ(unchanged.decisions.size(), 1U);
  EXPECT_EQ(unchanged.decisions[0].times, 10);

  Scripted changing({timer(500)}, {}, [](const Observation& seen) -> Answer {
    Allocation targets = seen.current;
    if (seen.interval == 3) targets.at(0, 1) = 2;
    return Decision{.targets = targets};
  });
  const RunResult changed = run_all(trace, changing);
  EXPECT_EQ(changed.lengths, (std::vector<Count>{1, 3, 1, 5, 1}));
  ASSERT_EQ(changed.decisions.size(), 2U);
  EXPECT_EQ(changed.decisions[0].times, 3);
  EXPECT_EQ(changed.decisions[1].times, 7);
}

std::vector<Meter> demand_meters(Nanoseconds window) {
  return {{DistinctMeter{.window = {window}, .reuses = 1}},
          {CurveMeter{.ops = OpFilter::kReads, .window = {window}}},
          {.what = CurveMeter{.scope = DistanceScope::kWarm, .window = {window}}, .name = "warm"}};
}

TEST(Run, ADecisionWithoutTargetsLeavesThem) {
  Random random(4);
  const Accesses trace = intern(rows_of(random), kVms);
  const Rule rule = [](const Observation& seen) -> Answer {
    if (seen.interval == 0) return std::nullopt;
    if (seen.interval == 1) return Decision{.write_modes = std::vector(kVms, WriteMode::kThrough)};
    return Decision{.infeasible = "two VMs want more than there is"};
  };
  Scripted system({timer(200)}, {}, rule);
  const std::vector<DecisionRecord> decisions = every_decision(run_all(trace, system));
  ASSERT_EQ(decisions.size(), system.rings.size() - 1) << "no answer is no decision";
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const DecisionRecord& record = decisions[i];
    EXPECT_EQ(record.targets, system.rings[0].current);
    EXPECT_EQ(record.decision.targets, std::nullopt);
    EXPECT_EQ(record.decision.infeasible, i == 0 ? "" : "two VMs want more than there is");
    EXPECT_EQ(record.timer, 0U);
    EXPECT_EQ(trace.request_time[record.request] - trace.request_time[0] >= system.rings[i + 1].now,
              true);
  }
  for (std::size_t i = 2; i < system.rings.size(); ++i) {
    for (const VmCounters& vm : system.rings[i].counters) EXPECT_EQ(vm.dirty, 0);
  }
}

TEST(Run, TargetsMayLeaveSpaceUnused) {
  Random random(5);
  const Accesses trace = intern(rows_of(random), kVms);
  const Rule rule = [](const Observation&) -> Answer {
    Allocation targets(2, kVms);
    targets.at(0, 1) = 3;
    return Decision{.targets = targets};
  };
  Scripted system({timer(200)}, {}, rule);
  run_all(trace, system);
  for (std::size_t i = 1; i < system.rings.size(); ++i) {
    for (VmId vm = 0; vm < kVms; ++vm) {
      for (std::size_t k = 0; k < 2; ++k) {
        const Count target = k == 0 && vm == 1 ? 3 : 0;
        EXPECT_EQ(system.rings[i].current.at(k, vm), target);
        EXPECT_LE(system.rings[i].counters[vm].tiers[k].occupancy, target);
      }
    }
  }
}

// Law: an empty decision changes nothing, whatever its meters.
TEST(Laws, AControllerThatAnswersNothingChangesNothing) {
  Random random(6);
  for (int round = 0; round < 20; ++round) {
    const Accesses trace = intern(rows_of(random), kVms);
    Scripted none({}, {});
    const auto alone = numbers(run_all(trace, none));
    Scripted asked({timer(70, true), timer(130, false, true)}, {});
    EXPECT_EQ(numbers(run_all(trace, asked)), alone);
    EXPECT_GT(asked.rings.size(), 0U);
    Scripted measured({timer(90)}, demand_meters(180));
    EXPECT_EQ(numbers(run_all(trace, measured)), alone);
    Scripted nothing({timer(90)}, {}, [](const Observation&) -> Answer { return Decision{}; });
    const RunResult empty = run_all(trace, nothing);
    EXPECT_EQ(numbers(empty), alone);
    EXPECT_EQ(every_decision(empty).size(), nothing.rings.size());
  }
}

std::vector<Meter> random_meters(Random& random, const std::vector<Timer>& timers) {
  std::vector<Meter> meters;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::size_t timer = random.below(timers.size());
    MeterKind what = naive::random_meter(random, timers[timer].clock);
    if (auto* curve = std::get_if<CurveMeter>(&what)) curve->foresight = Foresight::kNone;
    meters.push_back({what, timer, std::to_string(i)});
  }
  return meters;
}

// Law: what has not been is not known. A trace that ends just after a ring shows the same.
TEST(Laws, MetersDoNotSeeTheFuture) {
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const std::vector<Row> rows = rows_of(random);
    const std::vector<Timer> timers{timer(150, round % 2 == 0), timer(90, false, round % 3 == 0)};
    const std::vector<Meter> meters = random_meters(random, timers);
    Scripted system(timers, meters);
    run_all(intern(rows, kVms), system);
    for (std::size_t i = 0; i < system.rings.size(); i += 1 + system.rings.size() / 4) {
      const Ring& ring = system.rings[i];
      // The first requests after it, so that it still rings.
      std::size_t end = 0;
      while (end < rows.size() && rows[end].time - rows[0].time <= ring.now) ++end;
      const std::vector<Row> cut(
          rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, rows.size())));
      Scripted shorter(timers, meters);
      run_all(intern(cut, kVms), shorter);
      ASSERT_GT(shorter.rings.size(), i);
      EXPECT_EQ(shorter.rings[i].now, ring.now);
      EXPECT_EQ(shorter.rings[i].meters, ring.meters);
      for (VmId vm = 0; vm < kVms; ++vm) {
        EXPECT_EQ(numbers(shorter.rings[i].since[vm]), numbers(ring.since[vm]));
        EXPECT_EQ(numbers(shorter.rings[i].counters[vm]), numbers(ring.counters[vm]));
      }
      EXPECT_EQ(shorter.rings[i].arrived, ring.arrived);
    }
  }
}

TEST(Laws, ButForThoseThatSayTheyDo) {
  std::vector<Row> rows;
  for (Nanoseconds t = 0; t < 40; ++t) rows.push_back({t, 0, {static_cast<std::uint64_t>(t % 3)}});
  const std::vector<Row> cut(rows.begin(), rows.begin() + 12);
  for (const Foresight foresight : {Foresight::kNone, Foresight::kNext, Foresight::kWhole}) {
    const std::vector<Meter> meters{{CurveMeter{.foresight = foresight}}};
    Scripted longer({timer(10)}, meters);
    Scripted shorter({timer(10)}, meters);
    run_all(intern(rows, 1), longer);
    run_all(intern(cut, 1), shorter);
    EXPECT_EQ(longer.rings[0].meters == shorter.rings[0].meters, foresight == Foresight::kNone);
  }
}

// Law: a controller with a k times shorter period that acts every k-th time has equal results.
TEST(Laws, SplittingAPeriodChangesNothing) {
  Random random(8);
  for (int round = 0; round < 20; ++round) {
    const Accesses trace = intern(rows_of(random), kVms);
    Scripted whole({timer(240)}, demand_meters(480),
                   [](const Observation& seen) -> Answer { return by_demand(seen); });
    const RunResult once = run_all(trace, whole);
    EXPECT_GT(once.decisions.size(), 0U);
    for (const std::size_t k : {2, 3, 4}) {
      const Rule every_kth = [=](const Observation& seen) -> Answer {
        if ((seen.interval + 1) % k != 0) return std::nullopt;
        return by_demand(seen);
      };
      Scripted split({timer(240 / static_cast<Nanoseconds>(k))}, demand_meters(480), every_kth);
      const RunResult often = run_all(trace, split);
      EXPECT_EQ(numbers(often), numbers(once));
      ASSERT_EQ(often.decisions.size(), once.decisions.size());
      for (std::size_t i = 0; i < once.decisions.size(); ++i) {
        EXPECT_EQ(often.decisions[i].request, once.decisions[i].request);
        EXPECT_EQ(often.decisions[i].targets, once.decisions[i].targets);
        EXPECT_EQ(often.decisions[i].decision.write_modes, once.decisions[i].decision.write_modes);
        EXPECT_EQ(often.decisions[i].decision.admits, once.decisions[i].decision.admits);
        const Ring& ring = split.rings[(i + 1) * k - 1];
        EXPECT_EQ(ring.meters, whole.rings[i].meters);
      }
    }
  }
}

// Law: systems share equal meters, and read the same values as alone.
TEST(Laws, WhatTwoSystemsAskForIsMeasuredOnce) {
  Random random(9);
  const Accesses trace = intern(rows_of(random), kVms);
  const std::vector<Timer> timers{timer(100)};
  Scripted one(timers, demand_meters(300));
  Scripted other(timers, {{LoadMeter{}}, {CurveMeter{.ops = OpFilter::kReads, .window = {300}}}});
  std::vector<MeterSpec> specs = meter_specs(one);
  for (const MeterSpec& spec : meter_specs(other)) specs.push_back(spec);
  const auto measured = characterise(trace, specs);
  ASSERT_TRUE(measured.ok()) << measured.status();
  std::set<const MeterValues*> different;
  for (const MeterResult& meter : measured->meters) different.insert(meter.measured.get());
  EXPECT_EQ(different.size(), specs.size() - 1);
  for (Scripted* system : {&one, &other}) {
    const Cuts cuts = aligned_cuts(trace.request_time, 500);
    ASSERT_TRUE(run(trace, *system, *measured, cuts).ok());
    Scripted alone(system->timers(), system->meters());
    run_all(trace, alone, cuts);
    ASSERT_EQ(alone.rings.size(), system->rings.size());
    for (std::size_t i = 0; i < alone.rings.size(); ++i) {
      EXPECT_EQ(alone.rings[i].meters, system->rings[i].meters);
    }
  }
}

// Forwards all calls, and stores its counts at its end.
class Watched final : public testing::HostAround {
 public:
  Watched(std::unique_ptr<Host> host, std::vector<VmCounters>& last)
      : HostAround(std::move(host)), last_(last) {}
  ~Watched() override { last_ = host_->counters(); }

 private:
  std::vector<VmCounters>& last_;
};

// Law: of a decision that is refused nothing is done.
TEST(Laws, ARefusedDecisionLeavesAllAsItWas) {
  Random random(10);
  const Accesses trace = intern(rows_of(random), kVms);
  const auto granting = [](Count blocks) {
    Allocation targets(2, kVms);
    for (VmId vm = 0; vm < kVms; ++vm) targets.at(0, vm) = blocks;
    return targets;
  };
  const std::vector<WriteMode> through(kVms, WriteMode::kThrough);
  const auto refused = [&](const Decision& decision) {
    std::vector<VmCounters> after;
    Scripted system({timer(300)}, {}, [&](const Observation&) -> Answer { return decision; });
    system.wrap([&](std::unique_ptr<Host> host) {
      return std::make_unique<Watched>(std::move(host), after);
    });
    const auto result = try_run(trace, system, aligned_cuts(trace.request_time, 500));
    EXPECT_EQ(system.rings.size(), 1U);
    EXPECT_EQ(after.size(), kVms);
    Count dirty = 0;
    for (VmId vm = 0; vm < kVms; ++vm) {
      EXPECT_EQ(numbers(after[vm]), numbers(system.rings[0].counters[vm]));
      dirty += after[vm].dirty;
    }
    EXPECT_GT(dirty, 0) << "there was something to be done";
    return message_of(result.status());
  };
  EXPECT_EQ(refused({.targets = granting(100), .write_modes = through}),
            "targets: tier 0 grants 300 blocks of 12");
  EXPECT_EQ(refused({.targets = Allocation(1, kVms), .write_modes = through}),
            "targets: expected 2 tiers x 3 VMs, got 1 x 3");
  EXPECT_EQ(refused({.targets = granting(1), .write_modes = {WriteMode::kThrough}}),
            "write modes: expected 3 VMs, got 1");
  EXPECT_EQ(refused({.targets = granting(1), .write_modes = through, .admits = {true}}),
            "admits: expected 3 VMs, got 1");
  EXPECT_EQ(refused({.targets = granting(1), .placements = {{}}}),
            "a decision changes placements; its system declares that it decides targets, "
            "write_modes, admits");
}

// A host that accepts write modes of any length, as those do that only write through.
class WritesThrough final : public testing::HostAround {
 public:
  using HostAround::HostAround;
  absl::Status set_write_modes(std::span<const WriteMode> modes) override {
    return Host::set_write_modes(modes);
  }
};

// Logs the request before which each block is discarded.
class DiscardLog final : public testing::HostAround {
 public:
  DiscardLog(std::unique_ptr<Host> host, std::vector<Discard>& log)
      : HostAround(std::move(host)), log_(log) {}

  void replay(const Accesses& trace, RequestRange range) override {
    EXPECT_EQ(range.begin, next_);
    next_ = range.end;
    HostAround::replay(trace, range);
  }
  void discard(std::span<const BlockId> blocks) override {
    for (const BlockId block : blocks) log_.push_back({next_, block});
    HostAround::discard(blocks);
  }

 private:
  std::vector<Discard>& log_;
  std::size_t next_ = 0;
};

TEST(Run, DiscardsBlocksBeforeTheirRequestAndAtTheEnd) {
  Random random(14);
  for (int round = 0; round < 20; ++round) {
    Accesses trace = intern(rows_of(random), kVms);
    for (std::size_t r = 0; r <= trace.request_count(); ++r) {
      if (random.below(9) == 0 || r == trace.request_count()) {
        trace.discards.push_back({r, BlockId(random.below(trace.id_count()))});
      }
    }
    std::vector<Discard> log;
    Scripted system({timer(300)}, {});
    system.wrap([&](std::unique_ptr<Host> host) {
      return std::make_unique<DiscardLog>(std::move(host), log);
    });
    const auto result = try_run(trace, system, {10, 50, trace.request_count()});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(log, trace.discards);
  }
}

TEST(Run, ListsOfTheWrongLengthAreRefusedOnEveryHost) {
  Random random(13);
  const Accesses trace = intern(rows_of(random), kVms);
  const auto refused = [&](const Decision& decision) {
    Scripted system({timer(300)}, {}, [&](const Observation&) -> Answer { return decision; });
    system.wrap([](std::unique_ptr<Host> host) {
      return std::make_unique<WritesThrough>(std::move(host));
    });
    return message_of(try_run(trace, system, aligned_cuts(trace.request_time, 500)).status());
  };
  const Allocation nothing(2, kVms);
  for (const std::size_t length : {1U, 2U, 4U}) {
    const std::string wrong = fmt::format(": expected 3 VMs, got {}", length);
    EXPECT_EQ(
        refused({.targets = nothing, .write_modes = std::vector(length, WriteMode::kThrough)}),
        "write modes" + wrong);
    EXPECT_EQ(refused({.targets = nothing, .admits = std::vector(length, true)}), "admits" + wrong);
    EXPECT_EQ(refused({.targets = nothing, .throughputs = std::vector(length, 1.0)}),
              "throughputs" + wrong);
    EXPECT_EQ(refused({.targets = Allocation(2, length)}),
              fmt::format("targets: expected 2 tiers x 3 VMs, got 2 x {}", length));
  }
  EXPECT_EQ(refused({.targets = nothing, .write_modes = std::vector(kVms, WriteMode::kThrough)}),
            "");
}

// A system declares its actions; a mismatch is refused before the replay.
TEST(Run, ASystemIsRefusedOnAHostThatCannotDoWhatItDecides) {
  Random random(11);
  const Accesses trace = intern(rows_of(random), kVms);
  constexpr const char* kWrong =
      "decisions change placements; the host can change targets, write_modes, admits";
  Scripted system({timer(100)}, {});
  EXPECT_TRUE(check_actions(system).ok());
  system.decides = {Action::kTargets, Action::kPlacements};
  EXPECT_EQ(message_of(check_actions(system)), kWrong);
  const Cuts cuts = aligned_cuts(trace.request_time, 500);
  EXPECT_EQ(message_of(try_run(trace, system, cuts).status()), kWrong);
  EXPECT_EQ(system.rings.size(), 0U);
  EXPECT_EQ(message_of(check_supported({Action::kAdmission}, {})),
            "decisions change admits; the host can change nothing");
}

TEST(Run, AVmThatIsShutOutBringsNothingInUntilItIsLetInAgain) {
  Random random(12);
  const Accesses trace = intern(rows_of(random), kVms);
  const Rule rule = [](const Observation& seen) -> Answer {
    if (seen.interval > 1) return std::nullopt;
    return Decision{.admits = {seen.interval == 1, true, true}};
  };
  Scripted system({timer(200)}, {}, rule);
  run_all(trace, system);
  ASSERT_GT(system.rings.size(), 2U);
  EXPECT_GT(system.rings[0].since[0].tiers[0].fills, 0);
  EXPECT_GT(system.rings[1].since[0].misses, 0);
  EXPECT_EQ(system.rings[1].since[0].tiers[0].fills, 0);
  EXPECT_GT(system.rings[1].since[1].tiers[0].fills, 0);
  EXPECT_GT(system.rings[2].since[0].tiers[0].fills, 0);
}

TEST(Run, MistakesAreNamed) {
  const Accesses trace = intern({{0, 0, {1}}, {3600 * kSecond, 0, {1}}}, 1);
  const auto complaint = [&](System& system, const Characterised& measured) {
    return message_of(run(trace, system, measured, {0, 2}).status());
  };
  const auto timers_complaint = [&](const Timer& timer) {
    Scripted system({timer}, {});
    return complaint(system, {});
  };
  EXPECT_EQ(timers_complaint({.name = "sizes", .clock = {.period = 0}}),
            "sizes: must be positive, got 0ns");
  EXPECT_EQ(timers_complaint({.name = "reuse", .clock = {.period = 1}}),
            "reuse: '1ns' cuts this trace into 3600000000001 pieces; at most 1048576 can be kept");
  Scripted unread({timer(kSecond)}, {{LoadMeter{}, 1}});
  EXPECT_EQ(complaint(unread, {}), "meter 'load' is read by timer 1 of 1");
  Scripted twice({timer(kSecond)}, {{LoadMeter{}}, {LoadMeter{.window = {kSecond}}}});
  EXPECT_EQ(complaint(twice, {}), "two meters are named 'load'");
  const Rule undeclared = [](const Observation& seen) -> Answer {
    return seen.meter("curve").curves.empty() ? std::nullopt : std::optional(Decision{});
  };
  Scripted careless({timer(kSecond)}, {}, undeclared);
  EXPECT_EQ(complaint(careless, {}), "the system declares no meter 'curve'");
  const Allocation none;
  const Observation seen{.meters = {}, .counters = {}, .since = {}, .current = none};
  EXPECT_THROW(seen.meter("load"), std::out_of_range);
  EXPECT_EQ(meter_specs(unread).size(), 0U);
  Scripted unmeasured({timer(kSecond)}, {{LoadMeter{}}});
  EXPECT_EQ(
      complaint(unmeasured, {}),
      "a meter of the system was not measured: characterise the trace with its meter_specs()");
  const auto of_others = characterise(intern({{0, 0, {1}}}, 2), meter_specs(unmeasured));
  EXPECT_EQ(complaint(unmeasured, *of_others),
            "the meters were measured for 2 VMs, the trace has 1");
}

}  // namespace
}  // namespace mcsim
