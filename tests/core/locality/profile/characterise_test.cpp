// Trusts: the definitions of the meters applied to one period, window and VM at a time
// (tests/support/naive_meters.hpp); hand-made traces; conservation of accesses.
#include "core/locality/profile/characterise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "core/base/random.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/profile/meter_reader.hpp"
#include "tests/support/naive_meters.hpp"

namespace mcsim {
namespace {

using naive::intern;
using naive::Keys;
using naive::keys_of;
using naive::random_rows;
using naive::random_spec;
using naive::Row;

absl::StatusOr<MeterResult> characterise_one(const Accesses& trace, const MeterSpec& spec,
                                             const Tick& tick = nullptr, int threads = 0) {
  MCSIM_ASSIGN_OR_RETURN(const Characterised found, characterise(trace, {&spec, 1}, tick, threads));
  return found.meters.front();
}

// The curve that is read when a period has ended.
HitCurve curve_after(const MeterResult& metered, std::size_t period, VmId vm) {
  return curve_at(metered, period + 2, vm);
}

void expect_naive(const std::vector<Row>& rows, VmId vm_count, const MeterSpec& spec,
                  std::size_t warm_up = 0) {
  Accesses trace = intern(rows, vm_count);
  trace.warm_up = std::min(warm_up, rows.size());
  const auto found = characterise_one(trace, spec);
  ASSERT_TRUE(found.ok()) << found.status();
  const naive::Meters twin(rows, trace, spec.clock);
  EXPECT_EQ(found->spec, spec);
  EXPECT_EQ(found->vms, vm_count);
  ASSERT_EQ(*found->cuts, twin.cuts());
  if (const auto* meter = std::get_if<IntensityMeter>(&spec.what)) {
    const auto& series = std::get<IntensitySeries>(*found->measured);
    const std::vector<RiSample> samples = twin.samples(*meter);
    ASSERT_EQ(series.samples.size(), samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(series.samples[i].window_end, samples[i].window_end);
      EXPECT_EQ(series.samples[i].vm, samples[i].vm);
      EXPECT_EQ(series.samples[i].accesses, samples[i].accesses);
      EXPECT_DOUBLE_EQ(series.samples[i].reuse_intensity, samples[i].reuse_intensity);
    }
  }
  for (VmId vm = 0; vm < vm_count; ++vm) {
    std::vector<Intensity> intensities;
    if (const auto* meter = std::get_if<IntensityMeter>(&spec.what)) {
      intensities = twin.intensities(*meter, vm);
    }
    for (std::size_t k = 0; k < twin.periods(); ++k) {
      SCOPED_TRACE(testing::Message() << name_of(spec.what) << ", vm " << vm << ", period " << k);
      if (const auto* meter = std::get_if<CurveMeter>(&spec.what)) {
        if (meter->foresight == Foresight::kWhole) {
          ASSERT_EQ(curve_after(*found, k, vm), twin.whole_curve(*meter, vm));
        } else if (meter->foresight == Foresight::kNext) {
          ASSERT_EQ(curve_at(*found, k + 1, vm), twin.curve(*meter, k, vm));
        } else {
          ASSERT_EQ(curve_after(*found, k, vm), twin.curve(*meter, k, vm));
        }
      } else if (const auto* load = std::get_if<LoadMeter>(&spec.what)) {
        ASSERT_EQ(std::get<Series<Load>>(*found->measured)[k][vm], twin.load(*load, k, vm));
      } else if (const auto* of = std::get_if<DistinctMeter>(&spec.what)) {
        ASSERT_EQ(std::get<Series<Count>>(*found->measured)[k][vm], twin.distinct(*of, k, vm));
      } else if (const auto* classes = std::get_if<ClassMeter>(&spec.what)) {
        ASSERT_EQ(std::get<Series<ClassCounts>>(*found->measured)[k][vm],
                  twin.classes(*classes, k, vm));
      } else if (const auto* waits = std::get_if<ResponseMeter>(&spec.what)) {
        ASSERT_EQ(std::get<Series<Responses>>(*found->measured)[k][vm],
                  twin.responses(*waits, k, vm));
      } else {
        const Intensity& value = std::get<IntensitySeries>(*found->measured).values[k][vm];
        ASSERT_DOUBLE_EQ(value.value, intensities[k].value);
        ASSERT_EQ(value.window_unique, intensities[k].window_unique);
      }
    }
  }
}

// The last VM of several is silent now and then.
VmId random_vms(Random& random) { return static_cast<VmId>(1 + random.below(4)); }

std::vector<Row> rows_of(Random& random, VmId vm_count) {
  const bool silent = vm_count > 1 && random.below(4) == 0;
  return random_rows(random, static_cast<VmId>(vm_count - (silent ? 1 : 0)));
}

TEST(Characterise, EqualsMeasuringEachPeriodAlone) {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const VmId vm_count = random_vms(random);
    const std::vector<Row> rows = rows_of(random, vm_count);
    const std::size_t warm_up = random.below(2) == 0 ? 0 : random.below(200);
    expect_naive(rows, vm_count, random_spec(random, round % 2 == 0), warm_up);
    if (HasFatalFailure()) return;
  }
}

TEST(Characterise, EqualsMeasuringEachPeriodAloneWithDiscards) {
  Random random(31);
  for (int round = 0; round < 800; ++round) {
    SCOPED_TRACE(round);
    const VmId vm_count = random_vms(random);
    const std::vector<Row> rows = naive::with_discards(rows_of(random, vm_count), random, vm_count);
    const std::size_t warm_up = random.below(2) == 0 ? 0 : random.below(200);
    expect_naive(rows, vm_count, random_spec(random, round % 2 == 0), warm_up);
    if (HasFatalFailure()) return;
  }
}

// A block is read and discarded, and read again; the discard after the last request counts, too.
TEST(Characterise, DiscardedBlocksLeaveEveryMeter) {
  const std::vector<Row> rows{{0, 0, {1, 2}},
                              {1, 0, {1}, Op::kRead, -1, 0, {{VmId(0), 1}}},
                              {12, 0, {1, 2}},
                              {25, 0, {1}, Op::kRead, -1, 0, {{VmId(0), 1}}}};
  Accesses trace = intern(rows, 1);
  trace.discards.push_back({.request = rows.size(), .block = BlockId(0)});
  const TimerClock clock{.period = 10};
  const auto measured = [&](const MeterKind& what) {
    return characterise_one(trace, {.clock = clock, .what = what}).value();
  };
  const auto distinct = [&](const DistinctMeter& meter) {
    std::vector<Count> by_period;
    const MeterResult found = measured(meter);
    for (const auto& period : std::get<Series<Count>>(*found.measured)) {
      by_period.push_back(period[0]);
    }
    return by_period;
  };
  EXPECT_EQ(distinct({}), (std::vector<Count>{2, 1, 0}));
  EXPECT_EQ(distinct({.window = {20}}), (std::vector<Count>{2, 1, 1}));
  EXPECT_EQ(distinct({.window = {30}, .reuses = 1}), (std::vector<Count>{0, 1, 1}));
  const auto intensity = measured(IntensityMeter{.window = {10}});
  EXPECT_EQ(std::get<IntensitySeries>(*intensity.measured).values[0][0].window_unique, 3);
  const auto classes = measured(ClassMeter{.scope = DistanceScope::kCumulative});
  const ClassCounts counted = std::get<Series<ClassCounts>>(*classes.measured)[2][0];
  EXPECT_EQ(counted.cold[0], 4);
  EXPECT_EQ(counted.of(RequestClass::kRar), 2);
  const auto curve = measured(CurveMeter{.foresight = Foresight::kWhole});
  EXPECT_EQ(curve_after(curve, 2, 0),
            HitCurve(DistanceHistogram{.distance = {0, 1}, .count = {1, 1}, .cold = 4}));
}

TEST(Characterise, EqualsMeasuringEachPeriodAloneWhereWindowsFillPeriods) {
  Random random(12);
  for (const RiAggregate aggregate : {RiAggregate::kLast, RiAggregate::kMean, RiAggregate::kMax}) {
    for (const IntensityKind kind : {IntensityKind::kShare, IntensityKind::kPerSecond}) {
      expect_naive(random_rows(random, 3), 3,
                   {.clock = {.period = 120},
                    .what = IntensityMeter{.kind = kind, .window = {20}, .aggregate = aggregate}});
    }
  }
}

// Every curve there is, of one trace.
TEST(Characterise, CurvesOfAllKindsEqualTheirDefinitions) {
  Random random(16);
  for (const bool drifting : {false, true}) {
    const std::vector<Row> rows = random_rows(random, 3);
    for (const OpFilter ops : {OpFilter::kAll, OpFilter::kReads}) {
      for (const Between between : {Between::kAll, Between::kReads, Between::kAround}) {
        if (ops == OpFilter::kAll && between != Between::kAll) continue;
        for (const DistanceScope scope :
             {DistanceScope::kInterval, DistanceScope::kCumulative, DistanceScope::kWarm}) {
          for (const Nanoseconds periods : {0, 1, 2, 3, 5}) {
            expect_naive(
                rows, 3,
                {.clock = {.period = 170, .drifting = drifting},
                 .what = CurveMeter{
                     .ops = ops, .between = between, .scope = scope, .window = {170 * periods}}});
          }
        }
      }
    }
  }
}

// Everything that adds periods up, of one trace.
TEST(Characterise, WindowsOfAllKindsEqualTheirDefinitions) {
  Random random(21);
  for (const bool drifting : {false, true}) {
    for (const Nanoseconds period : {40, 170}) {
      const std::vector<Row> rows = random_rows(random, 3);
      const TimerClock clock{.period = period, .drifting = drifting};
      for (const Nanoseconds periods : {0, 1, 2, 3, 7, 250, 2'000'000}) {
        const Duration window{period * periods};
        expect_naive(rows, 3, {clock, LoadMeter{.window = window}});
        expect_naive(rows, 3, {clock, LoadMeter{.bytes = true, .window = window}});
        expect_naive(rows, 3, {clock, ResponseMeter{.window = window}});
        for (const DistanceScope scope :
             {DistanceScope::kInterval, DistanceScope::kCumulative, DistanceScope::kWarm}) {
          if (scope == DistanceScope::kInterval && periods > 256) continue;
          expect_naive(rows, 3, {clock, ClassMeter{.scope = scope, .window = window}});
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Characterise, IsTheSameWhateverElseIsAskedFor) {
  Random random(17);
  for (int round = 0; round < 20; ++round) {
    Accesses trace = intern(random_rows(random, 3), 3);
    trace.warm_up = random.below(trace.request_count());
    std::vector<MeterSpec> specs;
    const MeterSpec first = random_spec(random);
    specs.push_back(first);
    for (std::size_t i = 0; i < 12; ++i) {
      specs.push_back(random_spec(random));
      if (i % 2 == 0) specs.back() = {first.clock, naive::random_meter(random, first.clock)};
    }
    const auto together = characterise(trace, specs);
    ASSERT_TRUE(together.ok()) << together.status();
    ASSERT_EQ(together->meters.size(), specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(together->meters[i], *characterise_one(trace, specs[i])) << i;
      EXPECT_EQ(together->find(specs[i])->measured, together->meters[i].measured) << i;
    }
    EXPECT_EQ(*together->whole_curves, *characterise(trace, {})->whole_curves);
    EXPECT_EQ(together->find({.clock = {.period = 12'345}, .what = LoadMeter{}}), nullptr);
  }
}

// Whether two meters of one clock are measured once.
bool shared(const std::vector<Row>& rows, const MeterKind& one, const MeterKind& other) {
  const std::vector<MeterSpec> specs{{{.period = 100}, one}, {{.period = 100}, other}};
  const Accesses trace = intern(rows, 1);
  const auto found = characterise(trace, specs);
  EXPECT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->meters[0].cuts, found->meters[1].cuts) << "of one clock";
  return found->meters[0].measured == found->meters[1].measured;
}

TEST(Characterise, WhatDiffersInTheLookAloneIsMeasuredOnce) {
  const std::vector<Row> rows{{0, 0, {1, 2}}, {150, 0, {1}, Op::kWrite}, {420, 0, {2}}};
  using C = CurveMeter;
  EXPECT_TRUE(shared(rows, LoadMeter{}, LoadMeter{}));
  EXPECT_TRUE(shared(rows, LoadMeter{}, LoadMeter{.window = {100}})) << "0 says one period";
  EXPECT_TRUE(shared(rows, ResponseMeter{}, ResponseMeter{.window = {100}}));
  EXPECT_TRUE(shared(rows, ClassMeter{}, ClassMeter{.window = {100}}));
  EXPECT_TRUE(shared(rows, ClassMeter{.scope = DistanceScope::kCumulative},
                     ClassMeter{.scope = DistanceScope::kCumulative, .window = {300}}))
      << "all so far has no window";
  EXPECT_FALSE(shared(rows, LoadMeter{}, LoadMeter{.bytes = true}));
  EXPECT_FALSE(shared(rows, LoadMeter{}, LoadMeter{.window = {200}}));
  EXPECT_FALSE(shared(rows, ClassMeter{}, ClassMeter{.scope = DistanceScope::kWarm}));
  EXPECT_TRUE(shared(rows, C{}, C{.distance_limit = 3}));
  EXPECT_TRUE(shared(rows, C{}, C{.window = {100}})) << "0 says one period";
  EXPECT_TRUE(shared(rows, C{}, C{.scope = DistanceScope::kCumulative}));
  EXPECT_TRUE(shared(rows, C{}, C{.scope = DistanceScope::kWarm}));
  EXPECT_TRUE(shared(rows, C{}, C{.scope = DistanceScope::kCumulative, .window = {300}}))
      << "all so far has no window";
  EXPECT_TRUE(shared(rows, C{}, C{.foresight = Foresight::kNext}));
  EXPECT_TRUE(shared(rows, C{.window = {300}}, C{.scope = DistanceScope::kWarm, .window = {300}}));
  EXPECT_TRUE(shared(rows, DistinctMeter{}, DistinctMeter{.window = {100}}));
  EXPECT_FALSE(shared(rows, C{}, C{.window = {200}}));
  EXPECT_FALSE(shared(rows, C{}, C{.ops = OpFilter::kReads}));
  EXPECT_FALSE(shared(rows, C{.ops = OpFilter::kReads},
                      C{.ops = OpFilter::kReads, .between = Between::kReads}));
  EXPECT_FALSE(shared(rows, DistinctMeter{}, DistinctMeter{.reuses = 1}));
  EXPECT_FALSE(shared(rows, IntensityMeter{.window = {10}}, IntensityMeter{.window = {20}}));
}

TEST(Characterise, WithoutWritesReadsAreAll) {
  const std::vector<Row> rows{{0, 0, {1, 2}}, {150, 0, {1}}, {420, 0, {2}}};
  EXPECT_TRUE(
      shared(rows, CurveMeter{}, CurveMeter{.ops = OpFilter::kReads, .between = Between::kReads}));
  EXPECT_TRUE(shared(rows, DistinctMeter{}, DistinctMeter{.ops = OpFilter::kReads}));
  EXPECT_TRUE(shared(rows, IntensityMeter{.window = {10}},
                     IntensityMeter{.ops = OpFilter::kReads, .window = {10}}));
}

MeterResult metered_of(const std::vector<Row>& rows, const MeterSpec& spec, VmId vm_count = 1) {
  auto found = characterise_one(intern(rows, vm_count), spec);
  EXPECT_TRUE(found.ok()) << found.status();
  return *std::move(found);
}

IntensitySeries intensities_of(const std::vector<Row>& rows, const TimerClock& clock,
                               const IntensityMeter& meter, VmId vm_count = 1) {
  return std::get<IntensitySeries>(*metered_of(rows, {clock, meter}, vm_count).measured);
}

TEST(IntensityMeter, IsTheShareOfRepeats) {
  EXPECT_DOUBLE_EQ(reuse_intensity(9, 10), 0.1);  // Multi-Cache's example
  EXPECT_EQ(reuse_intensity(7, 7), 0);
  EXPECT_EQ(reuse_intensity(0, 0), 0);
  const auto tenth = intensities_of({{0, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1}}}, {}, {});
  EXPECT_DOUBLE_EQ(tenth.values[0][0].value, 0.1);
  EXPECT_EQ(tenth.values[0][0].window_unique, 9);
  const auto repeats = intensities_of({{0, 0, Keys(8, 5)}}, {}, {});
  EXPECT_DOUBLE_EQ(repeats.values[0][0].value, 1 - 1.0 / 8);
}

TEST(IntensityMeter, OrIsAccessesToABlockAndSecond) {
  EXPECT_EQ(reuse_intensity_per_second(5, 20, 2 * kSecond), 2);
  EXPECT_EQ(reuse_intensity_per_second(0, 0, kSecond), 0);
  const auto found = intensities_of(
      {{0, 0, {1, 2, 1, 2}}, {3 * kSecond, 0, {1}, Op::kWrite}, {10 * kSecond, 0, {3}}},
      {.period = 10 * kSecond},
      {.kind = IntensityKind::kPerSecond, .ops = OpFilter::kReads, .window = {10 * kSecond}});
  EXPECT_DOUBLE_EQ(found.values[0][0].value, 4 / (10.0 * 2));
}

// Windows of 10 in periods of 20: one repeat in the first window, none in the
// second, which ends with the period.
TEST(IntensityMeter, AWindowThatEndsWithThePeriodBelongsToIt) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {15, 0, {2, 3}}, {25, 0, {4, 4, 4, 4}}};
  const auto first = [&](RiAggregate aggregate) {
    return intensities_of(rows, {.period = 20}, {.window = {10}, .aggregate = aggregate})
        .values[0][0]
        .value;
  };
  EXPECT_EQ(first(RiAggregate::kLast), 0);
  EXPECT_EQ(first(RiAggregate::kMean), 0.25);
  EXPECT_EQ(first(RiAggregate::kMax), 0.5);
}

TEST(IntensityMeter, AnEmptyWindowHasNone) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {5, 1, {1}}, {15, 1, {1}}, {25, 0, {1}}};
  const auto found = intensities_of(rows, {.period = 20}, {.window = {10}}, 2);
  EXPECT_EQ(found.values[0][0].value, 0) << "silent in the last window";
  EXPECT_EQ(found.values[0][0].window_unique, 0);
  const std::vector<RiSample> samples{{10, 0, 0.5, 2}, {10, 1, 0, 1}, {20, 1, 0, 1}, {25, 0, 0, 1}};
  EXPECT_EQ(found.samples, samples) << "non-empty windows only; the trace ends the last";
}

TEST(IntensityMeter, StaysWhereNoWindowCloses) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {12, 0, {2}}, {22, 0, {2}}, {31, 0, {2}}};
  const auto found = intensities_of(rows, {.period = 10}, {.window = {20}});
  ASSERT_EQ(found.values.size(), 4U);
  EXPECT_EQ(found.values[0][0].value, 0) << "the first window is still open";
  EXPECT_DOUBLE_EQ(found.values[1][0].value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(found.values[2][0].value, 1.0 / 3);
  EXPECT_EQ(found.values[3][0].value, 0.5);
}

TEST(IntensityMeter, BySketchIsWithinItsErrorAndMayBeNegative) {
  Row row{0, 0, {}};
  for (std::uint64_t block = 0; block < 40'000; ++block) row.blocks.push_back(block);
  bool negative = false;
  for (std::size_t length = 20'000; length <= 40'000; length += 2500) {
    Row part = row;
    part.blocks.resize(length);
    const double sketched =
        intensities_of({part}, {}, {.unique = UniqueCounter::kHyperLogLog}).values[0][0].value;
    EXPECT_NEAR(sketched, 0, 0.04);
    negative = negative || sketched < 0;
  }
  EXPECT_TRUE(negative);
}

TEST(ClassMeter, IsTheExampleOfECICachePeriodByPeriod) {
  const std::vector<Row> rows{{0, 0, {1}, Op::kWrite},
                              {1, 0, {1}, Op::kWrite},
                              {2, 0, {1}},
                              {3, 0, {1}},
                              {4, 0, {1}, Op::kWrite},
                              {10, 0, {1}},
                              {11, 0, {1}, Op::kWrite},
                              {12, 0, {2}}};
  const auto found = std::get<Series<ClassCounts>>(
      *metered_of(rows, {.clock = {.period = 10}, .what = ClassMeter{}}).measured);
  EXPECT_EQ(found[0][0], (ClassCounts{.cold = {0, 1}, .again = {1, 1, 1, 1}}));
  EXPECT_EQ(found[1][0], (ClassCounts{.cold = {2, 0}, .again = {0, 0, 1, 0}}))
      << "what was before the period is forgotten";
  EXPECT_EQ(found[0][0].reuses(), 4);
  EXPECT_EQ(found[0][0].accesses(), 5);
  EXPECT_EQ(found[1][0].of(RequestClass::kWar), 1);
}

// Second period: the read of 1 follows a write of the first period, that of 2 nothing.
TEST(ClassMeter, ScopesDifferInWhatIsRemembered) {
  const std::vector<Row> rows{{0, 0, {1}, Op::kWrite},
                              {1, 0, {1}},
                              {2, 0, {1}, Op::kWrite},
                              {10, 0, {1}},
                              {11, 0, {2}},
                              {12, 0, {1}},
                              {25, 0, {2}, Op::kWrite}};
  const auto found = [&](DistanceScope scope, Nanoseconds window, std::size_t period) {
    const MeterSpec spec{.clock = {.period = 10},
                         .what = ClassMeter{.scope = scope, .window = {window}}};
    return std::get<Series<ClassCounts>>(*metered_of(rows, spec).measured)[period][0];
  };
  const auto interval = DistanceScope::kInterval;
  EXPECT_EQ(found(interval, 10, 1), (ClassCounts{.cold = {2, 0}, .again = {1, 0, 0, 0}}));
  EXPECT_EQ(found(DistanceScope::kWarm, 10, 1),
            (ClassCounts{.cold = {1, 0}, .again = {1, 1, 0, 0}}));
  EXPECT_EQ(found(interval, 20, 1), (ClassCounts{.cold = {1, 1}, .again = {1, 2, 1, 0}}));
  EXPECT_EQ(found(interval, 20, 2), (ClassCounts{.cold = {2, 0}, .again = {1, 0, 1, 0}}))
      << "what came before the window is forgotten as it moves on";
  EXPECT_EQ(found(DistanceScope::kCumulative, 0, 2),
            (ClassCounts{.cold = {1, 1}, .again = {1, 2, 2, 0}}));
}

// Block 1 is accessed in every period, block 2 twice in the first, block 3 once in the second.
TEST(DistinctMeter, CountsBlocksThatWereReusedOftenEnoughInASlidingWindow) {
  const std::vector<Row> rows{
      {0, 0, {1, 2, 2}}, {10, 0, {1, 3}}, {20, 0, {1}}, {45, 0, {1}}, {50, 0, {1}}};
  const auto found = [&](Count reuses, Nanoseconds window) {
    std::vector<Count> of_periods;
    const MeterSpec spec{.clock = {.period = 10},
                         .what = DistinctMeter{.window = {window}, .reuses = reuses}};
    const MeterResult metered = metered_of(rows, spec);
    for (const auto& row : std::get<Series<Count>>(*metered.measured)) {
      of_periods.push_back(row[0]);
    }
    return of_periods;
  };
  EXPECT_EQ(found(0, 10), (std::vector<Count>{2, 2, 1, 0, 1, 1}));
  EXPECT_EQ(found(0, 20), (std::vector<Count>{2, 3, 2, 1, 1, 1}));
  EXPECT_EQ(found(1, 20), (std::vector<Count>{1, 2, 1, 0, 0, 1}));
  EXPECT_EQ(found(2, 30), (std::vector<Count>{0, 0, 1, 0, 0, 0}));
}

// Blocks are 1 and 2; of period 1 alone, block 1 is new, with what came before it is not.
TEST(CurveMeter, ScopesDifferInWhatAnAccessFinds) {
  const std::vector<Row> rows{{0, 0, {1, 2}}, {10, 0, {1, 1}}, {20, 0, {2}}};
  const auto hits = [&](const CurveMeter& meter, std::size_t period, Count capacity) {
    const MeterResult of = metered_of(rows, {.clock = {.period = 10}, .what = meter});
    return curve_after(of, period, 0).hits(capacity);
  };
  EXPECT_EQ(hits({}, 1, 9), 1);
  EXPECT_EQ(hits({.scope = DistanceScope::kWarm}, 1, 9), 2);
  EXPECT_EQ(hits({.scope = DistanceScope::kWarm}, 1, 1), 1);
  EXPECT_EQ(hits({.scope = DistanceScope::kWarm}, 2, 9), 1);
  EXPECT_EQ(hits({.scope = DistanceScope::kCumulative}, 2, 9), 3);
  EXPECT_EQ(hits({.window = {20}}, 2, 9), 1);
  EXPECT_EQ(hits({.window = {30}}, 2, 9), 3);
}

TEST(CurveMeter, UsefulDistancesAreThoseOfReadsWithOrWithoutWritesInBetween) {
  // Distances of all: the read of 1 has 2, one of them written alone.
  const std::vector<Row> rows{
      {0, 0, {1}}, {1, 0, {2}, Op::kWrite}, {2, 0, {3}}, {3, 0, {1}}, {4, 0, {2}}};
  const auto curve = [&](Between between) {
    return curve_after(
        metered_of(rows,
                   {.clock = {}, .what = CurveMeter{.ops = OpFilter::kReads, .between = between}}),
        0, 0);
  };
  EXPECT_EQ(curve(Between::kAll),
            HitCurve(DistanceHistogram{.distance = {2}, .count = {2}, .cold = 2}));
  EXPECT_EQ(curve(Between::kReads),
            HitCurve(DistanceHistogram{.distance = {1}, .count = {1}, .cold = 3}))
      << "a block that was only written was not read";
}

// Read 1, write 1, read 1, read 2, read 1.
TEST(CurveMeter, WritesAroundDropTheirBlocks) {
  const std::vector<Row> rows{
      {0, 0, {1}}, {1, 0, {1}, Op::kWrite}, {2, 0, {1}}, {3, 0, {2}}, {4, 0, {1}}};
  const auto curve = [&](Between between) {
    return curve_after(
        metered_of(rows,
                   {.clock = {}, .what = CurveMeter{.ops = OpFilter::kReads, .between = between}}),
        0, 0);
  };
  EXPECT_EQ(curve(Between::kReads),
            HitCurve(DistanceHistogram{.distance = {0, 1}, .count = {1, 1}, .cold = 2}));
  EXPECT_EQ(curve(Between::kAround),
            HitCurve(DistanceHistogram{.distance = {1}, .count = {1}, .cold = 3}));
}

TEST(Characterise, PeriodsSumToTheRun) {
  Random random(13);
  const std::vector<Row> rows = random_rows(random, 3);
  const Accesses trace = intern(rows, 3);
  const TimerClock clock{.period = 70};
  const std::vector<MeterSpec> specs{
      {clock, LoadMeter{}}, {clock, CurveMeter{}}, {clock, ClassMeter{}}};
  const Characterised found = characterise(trace, specs).value();
  for (VmId vm = 0; vm < 3; ++vm) {
    Load sum;
    HitCurve curve;
    Count classes = 0;
    for (std::size_t k = 0; k < found.meters[0].periods(); ++k) {
      const Load& load = std::get<Series<Load>>(*found.meters[0].measured)[k][vm];
      sum.requests += load.requests;
      sum.accesses += load.accesses;
      curve.merge(curve_after(found.meters[1], k, vm));
      classes += std::get<Series<ClassCounts>>(*found.meters[2].measured)[k][vm].accesses();
    }
    EXPECT_EQ(sum.requests, trace.vms[vm].requests);
    EXPECT_EQ(sum.accesses, trace.vms[vm].accesses);
    EXPECT_EQ(curve.accesses(), trace.vms[vm].accesses);
    EXPECT_EQ(classes, trace.vms[vm].accesses);
  }
}

TEST(Characterise, PeriodsWithoutRequestsAreKept) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {35, 0, {1}}};
  const TimerClock clock{.period = 10};
  const MeterResult load = metered_of(rows, {clock, LoadMeter{}});
  ASSERT_EQ(load.periods(), 4U);
  EXPECT_EQ(std::get<Series<Load>>(*load.measured)[1][0], Load{});
  EXPECT_EQ(intensities_of(rows, clock, {.window = {5}}).values[1][0], Intensity{});
  EXPECT_EQ(curve_after(metered_of(rows, {clock, CurveMeter{}}), 3, 0).hits(10), 0)
      << "the first touch of a period is cold";
}

std::vector<HitCurve> whole_curves(const Accesses& trace) {
  const auto found = characterise(trace, {});
  EXPECT_TRUE(found.ok()) << found.status();
  return *found->whole_curves;
}

TEST(Characterise, OfNoRequestsHasNoPeriods) {
  for (const MeterKind& meter :
       {MeterKind{CurveMeter{}}, MeterKind{LoadMeter{}}, MeterKind{DistinctMeter{.reuses = 1}},
        MeterKind{IntensityMeter{}}, MeterKind{ClassMeter{}}, MeterKind{ResponseMeter{}},
        MeterKind{ClassMeter{.scope = DistanceScope::kCumulative}}}) {
    EXPECT_EQ(metered_of({}, {.clock = {}, .what = meter}, 2).periods(), 0U);
  }
  EXPECT_EQ(whole_curves(intern({}, 2)), std::vector<HitCurve>(2));
}

TEST(Characterise, AnIndexedTraceIsCutByReferences) {
  std::vector<Row> rows;
  for (Nanoseconds i = 0; i < 100; ++i) rows.push_back({i, 0, {static_cast<std::uint64_t>(i % 5)}});
  Accesses trace = intern(rows, 1);
  trace.time_base = TimeBase::kIndex;
  const std::vector<MeterSpec> specs{{{.period = 50}, LoadMeter{}},
                                     {{.period = 50}, IntensityMeter{.window = {10}}}};
  const auto found = characterise(trace, specs);
  ASSERT_EQ(found->meters[0].periods(), 2U);
  EXPECT_EQ(std::get<Series<Load>>(*found->meters[0].measured)[1][0].accesses, 50);
  EXPECT_EQ(std::get<IntensitySeries>(*found->meters[1].measured).values[1][0].value, 0.5);
  EXPECT_EQ(
      message_of(characterise_one(trace, {.clock = {.period = 0}, .what = LoadMeter{}}).status()),
      "interval: must be positive, got 0 references");
}

// Three requests a second that take half of one: one and a half are under way.
TEST(ResponseMeter, IsLittlesLaw) {
  std::vector<Row> rows;
  for (Nanoseconds at = 0; at < 12; ++at) {
    rows.push_back({at * kSecond / 3, 0, {1}, Op::kRead, kSecond / 2});
  }
  const auto found = metered_of(rows, {.clock = {.period = kSecond}, .what = ResponseMeter{}});
  for (const auto& period : std::get<Series<Responses>>(*found.measured)) {
    EXPECT_EQ(period[0].outstanding, 1.5);
    EXPECT_EQ(period[0].mean_ns, 5e8);
    EXPECT_EQ(period[0].outstanding, static_cast<double>(period[0].requests) * 0.5);
  }
}

// A window of several periods has the mean of its periods, also before it is full.
TEST(ResponseMeter, OfAWindowIsTheMeanOverThePeriodsThatItHas) {
  std::vector<Row> rows;
  for (Nanoseconds at = 0; at < 12; ++at) {
    rows.push_back({at * kSecond / 3, 0, {1}, Op::kRead, kSecond / 2});
  }
  const MeterSpec spec{.clock = {.period = kSecond},
                       .what = ResponseMeter{.window = {3 * kSecond}}};
  const MeterResult metered = metered_of(rows, spec);
  const auto& periods = std::get<Series<Responses>>(*metered.measured);
  for (std::size_t k = 0; k < periods.size(); ++k) {
    EXPECT_EQ(periods[k][0].outstanding, 1.5);
    EXPECT_EQ(periods[k][0].requests, static_cast<Count>(3 * std::min<std::size_t>(k + 1, 3)));
  }
}

// Times that add up to more than 64 bits leave a window without a trace.
TEST(ResponseMeter, OfAWindowForgetsWhatLeavesIt) {
  constexpr Nanoseconds kAges = std::numeric_limits<Nanoseconds>::max();
  const std::vector<Row> rows{{0, 0, {1}, Op::kRead, kAges},
                              {1, 0, {1}, Op::kRead, kAges},
                              {2, 0, {1}, Op::kRead, kAges},
                              {10, 0, {1}, Op::kRead, 7},
                              {20, 0, {1}, Op::kRead, 9}};
  const MeterSpec spec{.clock = {.period = 10}, .what = ResponseMeter{.window = {20}}};
  const MeterResult metered = metered_of(rows, spec);
  const auto& periods = std::get<Series<Responses>>(*metered.measured);
  EXPECT_NEAR(periods[0][0].mean_ns, 0x1p63, 1);
  EXPECT_EQ(periods[2][0], (Responses{.requests = 2, .mean_ns = 8, .outstanding = 0.8}));
}

TEST(LoadMeter, CountsBytesAsRecordedReadsAndWritesApart) {
  const std::vector<Row> rows{{0, 0, {1, 2}, Op::kRead, -1, 4100},
                              {5, 0, {1}, Op::kWrite, -1, 512},
                              {11, 0, {7}, Op::kRead, -1, 4'294'967'295},
                              {12, 0, {7}, Op::kRead, -1, 4'294'967'295},
                              {25, 0, {}, Op::kWrite, -1, 0}};
  const auto found = [&](const LoadMeter& meter, std::size_t period) {
    const MeterResult metered = metered_of(rows, {.clock = {.period = 10}, .what = meter});
    return std::get<Series<Load>>(*metered.measured)[period][0];
  };
  const Load first{.requests = 2, .read_requests = 1, .accesses = 3, .reads = 2};
  EXPECT_EQ(found({}, 0), first) << "nobody asked for bytes";
  EXPECT_EQ(first.write_requests(), 1);
  EXPECT_EQ(first.writes(), 1);
  EXPECT_EQ(found({.bytes = true}, 0).bytes, (std::array<Count, 2>{4100, 512}));
  EXPECT_EQ(found({.bytes = true, .window = {20}}, 1).bytes,
            (std::array<Count, 2>{4100 + 2 * 4'294'967'295, 512}));
  EXPECT_EQ(found({.bytes = true, .window = {20}}, 2), (Load{.requests = 3,
                                                             .read_requests = 2,
                                                             .accesses = 2,
                                                             .reads = 2,
                                                             .bytes = {2 * 4'294'967'295, 0}}));
}

TEST(LoadMeter, IsRefusedBytesWhereTheyAreNotKept) {
  Accesses trace = intern({{0, 0, {1}}, {1, 0, {1}}}, 1);
  trace.keeps_bytes = false;
  EXPECT_EQ(
      message_of(characterise_one(trace, {.clock = {}, .what = LoadMeter{.bytes = true}}).status()),
      "meter 'load': the trace was interned without the bytes of requests; intern it with them");
  EXPECT_TRUE(characterise_one(trace, {.clock = {}, .what = LoadMeter{}}).ok());
}

TEST(ResponseMeter, IsRefusedWhereResponseTimesAreNotKept) {
  Accesses trace = intern({{0, 0, {1}}, {1, 0, {1}}}, 1);
  trace.keeps_responses = false;
  EXPECT_EQ(
      message_of(characterise_one(trace, {.clock = {}, .what = ResponseMeter{}}).status()),
      "meter 'responses': the trace was interned without response times; intern it with them");
}

TEST(Characterise, WholeCurvesAreThoseOfEachVmsStream) {
  Random random(14);
  const std::vector<Row> rows = random_rows(random, 3);
  const auto curves = whole_curves(intern(rows, 3));
  for (VmId vm = 0; vm < 3; ++vm) {
    EXPECT_EQ(curves[vm], HitCurve(*histogram_of(keys_of(rows, 0, rows.size(), vm))));
  }
}

TEST(Characterise, WholeCurvesAreOfWhatComesAfterTheWarmUp) {
  Random random(15);
  std::vector<Row> rows;
  while (rows.size() < 200) rows = random_rows(random, 3);
  Accesses trace = intern(rows, 3);
  trace.warm_up = 150;
  const auto curves = whole_curves(trace);
  for (VmId vm = 0; vm < 3; ++vm) {
    const HitCurve all(*histogram_of(keys_of(rows, 0, rows.size(), vm)));
    const HitCurve before(*histogram_of(keys_of(rows, 0, trace.warm_up, vm)));
    const HitCurve& curve = curves[vm];
    EXPECT_EQ(curve.accesses(), all.accesses() - before.accesses());
    for (const Count capacity : {0, 1, 3, 10, 40, 1'000}) {
      EXPECT_EQ(curve.hits(capacity), all.hits(capacity) - before.hits(capacity));
    }
  }
}

TEST(Characterise, MistakesAreNamed) {
  const Accesses trace = intern({{0, 0, {1}}, {3600 * kSecond, 0, {1}}}, 1);
  const auto complaint = [&](const MeterSpec& spec) {
    return message_of(characterise_one(trace, spec).status());
  };
  const auto complaint_of = [&](const MeterKind& meter) {
    return complaint({.clock = {}, .what = meter});
  };
  EXPECT_EQ(complaint({.clock = {.period = -5}, .what = LoadMeter{}}),
            "interval: must be positive, got -5ns");
  EXPECT_EQ(complaint({.clock = {.period = 1000}, .what = LoadMeter{}}),
            "interval: '1us' cuts this trace into 3600000001 pieces; at most 1048576 can be kept");
  EXPECT_EQ(complaint_of(IntensityMeter{.window = {0}}),
            "meter 'intensity': window: must be positive, got 0ns");
  EXPECT_EQ(complaint_of(IntensityMeter{.window = {100}}),
            "meter 'intensity': window: '100ns' cuts this trace into 36000000001 pieces; at most "
            "33554432 can be kept");
  EXPECT_EQ(complaint_of(CurveMeter{.distance_limit = -1}),
            "meter 'curve': distance_limit: must be 0 (none) or positive, got -1");
  EXPECT_EQ(complaint_of(CurveMeter{.between = Between::kReads}),
            "meter 'curve': between: 'reads' needs ops: reads");
  EXPECT_EQ(complaint_of(CurveMeter{.ops = OpFilter::kReads, .foresight = Foresight::kWhole}),
            "meter 'curve': foresight: 'whole' needs ops: all");
  EXPECT_EQ(complaint_of(DistinctMeter{.reuses = -1}),
            "meter 'distinct': reuses: expected 0 to 4294967294, got -1");
  EXPECT_EQ(complaint_of(CurveMeter{.window = {5400 * kSecond}}),
            "meter 'curve': window: expected a whole number of periods of 3600000000000 ns, got "
            "5400000000000 ns");
  EXPECT_EQ(complaint_of(DistinctMeter{.window = {-3600 * kSecond}}),
            "meter 'distinct': window: expected a whole number of periods of 3600000000000 ns, got "
            "-3600000000000 ns");
  for (const MeterKind& meter :
       {MeterKind{LoadMeter{.window = {5400 * kSecond}}},
        MeterKind{ClassMeter{.scope = DistanceScope::kWarm, .window = {5400 * kSecond}}},
        MeterKind{ResponseMeter{.window = {5400 * kSecond}}}}) {
    EXPECT_EQ(complaint_of(meter), "meter '" + std::string(name_of(meter)) +
                                       "': window: expected a whole number of periods of "
                                       "3600000000000 ns, got 5400000000000 ns");
  }
  EXPECT_EQ(complaint_of(ClassMeter{.window = {3600 * kSecond * 300}}),
            "meter 'classes': window: expected at most 256 periods, got 300");
  EXPECT_EQ(
      complaint_of(ClassMeter{.scope = DistanceScope::kWarm, .window = {3600 * kSecond * 300}}), "")
      << "who remembers all need not know when it was";
  EXPECT_EQ(complaint_of(CurveMeter{.window = {3600 * kSecond * 300}}),
            "meter 'curve': window: expected at most 256 periods, got 300");
  EXPECT_EQ(complaint_of(
                CurveMeter{.scope = DistanceScope::kCumulative, .window = {3600 * kSecond * 300}}),
            "")
      << "all so far has no window";
  EXPECT_EQ(complaint_of(DistinctMeter{.window = {3600 * kSecond * 300}}), "")
      << "a longer window than the trace is the trace";
}

// Long enough for several slabs and VMs of unlike size.
Accesses long_trace() {
  std::vector<Row> rows;
  Random random(15);
  for (Nanoseconds r = 0; r < 60'000; ++r) {
    Row row{r,
            static_cast<VmId>(random.below(1 + random.below(5))),
            {},
            random.below(3) == 0 ? Op::kWrite : Op::kRead};
    const std::uint64_t first = random.below(1 + random.below(2000));
    for (std::uint64_t b = 0; b < 40; ++b) row.blocks.push_back(first + b);
    rows.push_back(std::move(row));
  }
  return intern(rows, 5);
}

TEST(Characterise, PeriodsOfManyBlocksAddUpToTheWholeCurve) {
  std::vector<Row> rows;
  Random random(19);
  for (Nanoseconds r = 0; r < 40'000; ++r) {
    const std::uint64_t first = random.below(60'000);
    rows.push_back({r, static_cast<VmId>(random.below(2)), {first, first + 1, first + 7}});
  }
  const Accesses trace = intern(rows, 2);
  const TimerClock clock{.period = 9'000};
  const std::vector<MeterSpec> specs{
      {clock, DistinctMeter{}},
      {clock, CurveMeter{.scope = DistanceScope::kCumulative}},
      {clock, CurveMeter{.scope = DistanceScope::kWarm, .window = {9'000 * 9}}}};
  const auto found = characterise(trace, specs);
  ASSERT_TRUE(found.ok()) << found.status();
  const std::size_t last = found->meters[0].periods() - 1;
  for (VmId vm = 0; vm < 2; ++vm) {
    const HitCurve& whole = (*found->whole_curves)[vm];
    EXPECT_GT(std::get<Series<Count>>(*found->meters[0].measured)[1][vm], 4'000);
    EXPECT_EQ(curve_after(found->meters[1], last, vm), whole);
    EXPECT_EQ(curve_after(found->meters[2], last, vm), whole);
    EXPECT_EQ(whole, HitCurve(*histogram_of(keys_of(rows, 0, rows.size(), vm))));
  }
}

TEST(Characterise, DoesNotDependOnThreads) {
  const Accesses trace = long_trace();
  const TimerClock clock{.period = 7000};
  const std::vector<MeterSpec> specs{
      {clock, CurveMeter{}},
      {clock, CurveMeter{.ops = OpFilter::kReads, .window = {21'000}}},
      {clock, CurveMeter{.ops = OpFilter::kReads, .between = Between::kReads}},
      {clock, LoadMeter{}},
      {clock, DistinctMeter{.window = {14'000}, .reuses = 2}},
      {clock, IntensityMeter{.window = {700}}},
      {clock, ClassMeter{}},
      {clock, ClassMeter{.window = {21'000}}},
      {clock, LoadMeter{.bytes = true, .window = {21'000}}}};
  const auto one = characterise(trace, specs, nullptr, 1);
  ASSERT_TRUE(one.ok());
  for (const int threads : {0, 2, 3, 16}) {
    const auto several = characterise(trace, specs, nullptr, threads);
    EXPECT_EQ(one->meters, several->meters) << threads << " threads";
    EXPECT_EQ(*one->whole_curves, *several->whole_curves) << threads << " threads";
  }
}

TEST(Characterise, TicksFromTheCallersThreadAndStopsWhenToldTo) {
  const Accesses trace = long_trace();
  std::vector<Count> ticks;
  const std::thread::id caller = std::this_thread::get_id();
  const Tick count = [&](Count done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ticks.push_back(done);
    return absl::OkStatus();
  };
  const MeterSpec spec{.clock = {.period = 10'000}, .what = CurveMeter{}};
  ASSERT_TRUE(characterise_one(trace, spec, count).ok());
  EXPECT_EQ(static_cast<Count>(ticks.size()), trace.access_count() >> 20) << "one every 2^20";
  EXPECT_TRUE(std::is_sorted(ticks.begin(), ticks.end()));
  EXPECT_LE(ticks.back(), trace.access_count());
  const auto stopped =
      characterise_one(trace, spec, [](Count) { return absl::CancelledError("enough"); });
  EXPECT_EQ(message_of(stopped.status()), "enough");
}

}  // namespace
}  // namespace mcsim
