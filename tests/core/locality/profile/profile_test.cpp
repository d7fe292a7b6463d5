// Trusts: the definitions of the profile applied to one interval, window and VM at a time
// with the naive twins; hand-made traces; conservation of accesses.
#include "core/locality/profile/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

#include "core/base/random.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "tests/support/naive.hpp"

namespace mcsim {
namespace {

using naive::Keys;

struct Row {
  Nanoseconds time;
  VmId vm;
  Keys blocks;
  Op op = Op::kRead;
};

Accesses intern(const std::vector<Row>& rows, VmId vm_count) {
  Accesses trace;
  std::vector<std::map<std::uint64_t, BlockId>> number(vm_count);
  for (const Row& row : rows) {
    for (const auto block : row.blocks) {
      number[row.vm].try_emplace(block, static_cast<BlockId>(number[row.vm].size()));
    }
  }
  BlockId first_id = 0;
  for (VmId vm = 0; vm < vm_count; ++vm) {
    const auto blocks = static_cast<Count>(number[vm].size());
    trace.vms.push_back({.name = "vm", .first_id = first_id, .unique_blocks = blocks});
    first_id += static_cast<BlockId>(blocks);
  }
  for (const Row& row : rows) {
    VmInfo& vm = trace.vms[row.vm];
    for (const auto block : row.blocks) trace.ids.push_back(vm.first_id + number[row.vm][block]);
    trace.request_begin.push_back(trace.ids.size());
    trace.request_time.push_back(row.time);
    trace.request_vm.push_back(row.vm);
    trace.request_op.push_back(static_cast<std::uint8_t>(row.op));
    ++vm.requests;
    vm.accesses += static_cast<Count>(row.blocks.size());
  }
  return trace;
}

// A few VMs that come, go and fall silent over some intervals.
std::vector<Row> random_rows(Random& random, VmId vm_count) {
  std::vector<Row> rows;
  auto time = static_cast<Nanoseconds>(random.below(1000));
  const std::uint64_t gap = 1 + random.below(30);
  const std::uint64_t footprint = 1 + random.below(80);
  for (std::uint64_t r = 1 + random.below(400); r-- > 0;) {
    Row row{time,
            static_cast<VmId>(random.below(vm_count)),
            {},
            random.below(4) == 0 ? Op::kWrite : Op::kRead};
    const std::uint64_t first = random.below(footprint);
    for (std::uint64_t b = 0; b < 1 + random.below(4); ++b) row.blocks.push_back(first + b);
    rows.push_back(row);
    if (random.below(3) != 0) time += static_cast<Nanoseconds>(random.below(gap));
    if (random.below(60) == 0) time += 300;
  }
  return rows;
}

Keys keys_of(const std::vector<Row>& rows, std::size_t begin, std::size_t end, VmId vm) {
  Keys keys;
  for (std::size_t r = begin; r < end; ++r) {
    if (rows[r].vm == vm) keys.insert(keys.end(), rows[r].blocks.begin(), rows[r].blocks.end());
  }
  return keys;
}

double intensity(const Keys& keys) {
  if (keys.empty()) return 0;
  return 1 - static_cast<double>(naive::unique(keys)) / static_cast<double>(keys.size());
}

struct Window {
  std::size_t begin;
  std::size_t end;
  std::size_t interval;  // in which it closes
};

// Window by window from the definition: the w-th is [t0 + w W, t0 + (w + 1) W),
// and closes in the interval that holds its end or ends with it.
std::vector<Window> aligned_windows(const std::vector<Row>& rows, const ProfileSpec& spec) {
  const Nanoseconds start = rows.front().time;
  const Nanoseconds last = rows.back().time - start;
  std::vector<Window> windows;
  for (Nanoseconds from = 0; from <= last; from += spec.ri_window) {
    const auto first_at = [&](Nanoseconds offset) {
      std::size_t r = 0;
      while (r < rows.size() && rows[r].time - start < offset) ++r;
      return r;
    };
    const Nanoseconds to = std::min(from + spec.ri_window, last);
    const Nanoseconds interval = to == last ? last / spec.interval : (to - 1) / spec.interval;
    windows.push_back(
        {first_at(from), first_at(from + spec.ri_window), static_cast<std::size_t>(interval)});
  }
  return windows;
}

std::vector<Window> drifting_windows(const std::vector<Nanoseconds>& times,
                                     const ProfileSpec& spec) {
  const Cuts intervals = drifting_cuts(times, spec.interval);
  const Cuts cuts = drifting_cuts(times, spec.ri_window);
  std::vector<Window> windows;
  for (std::size_t w = 0; w + 1 < cuts.size(); ++w) {
    std::size_t interval = 0;
    while (intervals[interval + 1] < cuts[w + 1]) ++interval;
    windows.push_back({cuts[w], cuts[w + 1], interval});
  }
  return windows;
}

absl::StatusOr<Profile> characterise_one(const Accesses& trace, const ProfileSpec& spec,
                                         const Tick& tick = nullptr, int threads = 0) {
  MCSIM_ASSIGN_OR_RETURN(const Characterised found, characterise(trace, {&spec, 1}, tick, threads));
  return found.profiles.front();
}

void expect_naive(const std::vector<Row>& rows, VmId vm_count, const ProfileSpec& spec) {
  const Accesses trace = intern(rows, vm_count);
  const auto profile = characterise_one(trace, spec);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->cuts(), spec.drifting ? drifting_cuts(trace.request_time, spec.interval)
                                           : aligned_cuts(trace.request_time, spec.interval));
  const std::vector<Window> windows =
      spec.drifting ? drifting_windows(trace.request_time, spec) : aligned_windows(rows, spec);
  std::size_t samples = 0;
  for (VmId vm = 0; vm < vm_count; ++vm) {
    double expected_intensity = 0;
    Count expected_window_unique = 0;
    for (std::size_t k = 0; k < profile->interval_count(); ++k) {
      SCOPED_TRACE(testing::Message() << "vm " << vm << ", interval " << k);
      const std::size_t begin = profile->cuts()[k];
      const std::size_t end = profile->cuts()[k + 1];
      const Keys keys = keys_of(rows, begin, end, vm);
      const VmProfile& found = profile->measured->vms[k][vm];
      Count requests = 0;
      Count reads = 0;
      for (std::size_t r = begin; r < end; ++r) {
        if (rows[r].vm != vm) continue;
        ++requests;
        if (rows[r].op == Op::kRead) reads += static_cast<Count>(rows[r].blocks.size());
      }
      EXPECT_EQ(found.requests, requests);
      EXPECT_EQ(found.reads, reads);
      EXPECT_EQ(found.accesses, static_cast<Count>(keys.size()));
      EXPECT_EQ(found.unique_blocks, naive::unique(keys));

      const bool cumulative = spec.scope == DistanceScope::kCumulative;
      const Keys scope = cumulative ? keys_of(rows, 0, end, vm) : keys;
      const std::vector<Count> distances = naive::distances(scope);
      const HitCurve curve = profile->curve(k, vm);
      ASSERT_EQ(curve.accesses(), static_cast<Count>(scope.size()));
      for (Count capacity = 0; capacity <= 90; ++capacity) {
        ASSERT_EQ(curve.hits(capacity),
                  std::count_if(distances.begin(), distances.end(), [&](Count distance) {
                    const bool known = spec.distance_limit == 0 || distance < spec.distance_limit;
                    return distance >= 0 && known && distance < capacity;
                  }));
      }

      std::vector<double> closed;
      for (const Window& window : windows) {
        if (window.interval != k) continue;
        const Keys in_window = keys_of(rows, window.begin, window.end, vm);
        closed.push_back(intensity(in_window));
        expected_window_unique = naive::unique(in_window);
        samples += in_window.empty() ? 0 : 1;
      }
      if (!closed.empty()) {
        double sum = 0;
        for (const double value : closed) sum += value;
        expected_intensity = spec.ri_aggregate == RiAggregate::kLast ? closed.back()
                             : spec.ri_aggregate == RiAggregate::kMean
                                 ? sum / static_cast<double>(closed.size())
                                 : *std::max_element(closed.begin(), closed.end());
      }
      EXPECT_DOUBLE_EQ(found.reuse_intensity, expected_intensity);
      EXPECT_EQ(found.ri_window_unique, expected_window_unique);
    }
  }
  const std::vector<RiSample>& series = profile->measured->reuse_intensity;
  EXPECT_EQ(series.size(), samples);
  Count sampled = 0;
  for (const RiSample& sample : series) sampled += sample.accesses;
  EXPECT_EQ(sampled, trace.access_count());
  EXPECT_TRUE(std::is_sorted(
      series.begin(), series.end(),
      [](const RiSample& a, const RiSample& b) { return a.window_end < b.window_end; }));
}

ProfileSpec random_spec(Random& random, bool short_windows) {
  ProfileSpec spec;
  spec.interval = 1 + static_cast<Nanoseconds>(random.below(900));
  spec.ri_window = 1 + static_cast<Nanoseconds>(random.below(short_windows ? 60 : 1200));
  spec.drifting = random.below(2) == 1;
  spec.scope = random.below(2) == 0 ? DistanceScope::kInterval : DistanceScope::kCumulative;
  spec.distance_limit = random.below(2) == 0 ? 0 : 1 + static_cast<Count>(random.below(30));
  spec.ri_aggregate = static_cast<RiAggregate>(random.below(3));
  return spec;
}

TEST(Profile, EqualsMeasuringEachIntervalAlone) {
  Random random(11);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const VmId vm_count = static_cast<VmId>(1 + random.below(4));
    const std::vector<Row> rows = random_rows(random, vm_count);
    expect_naive(rows, vm_count, random_spec(random, round % 2 == 0));
  }
}

TEST(Profile, IsTheSameWhateverElseIsAskedFor) {
  Random random(17);
  for (int round = 0; round < 20; ++round) {
    const Accesses trace = intern(random_rows(random, 3), 3);
    std::vector<ProfileSpec> specs;
    for (std::size_t i = 0; i < 4; ++i) {
      specs.push_back(random_spec(random, true));
      specs.push_back(specs.back());
      specs.back().scope = DistanceScope::kCumulative;
    }
    const auto together = characterise(trace, specs);
    ASSERT_TRUE(together.ok()) << together.status();
    ASSERT_EQ(together->profiles.size(), specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      EXPECT_EQ(together->profiles[i], *characterise_one(trace, specs[i])) << i;
    }
    EXPECT_EQ(together->profiles[0].measured, together->profiles[1].measured)
        << "the scope is a matter of looking";
    EXPECT_EQ(together->whole_curves, characterise(trace, {})->whole_curves);
  }
}

TEST(Profile, IsReadIntervalByInterval) {
  Random random(18);
  for (int round = 0; round < 20; ++round) {
    const Accesses trace = intern(random_rows(random, 3), 3);
    const Profile profile = *characterise_one(trace, random_spec(random, true));
    const std::size_t gone = profile.interval_count() / 2;
    ProfileReader reader(profile);
    for (std::size_t k = 0; k < profile.interval_count(); ++k) {
      if (k == gone) reader.forget(1);
      reader.advance();
      for (std::size_t vm = 0; vm < 3; ++vm) {
        SCOPED_TRACE(testing::Message() << "vm " << vm << ", interval " << k);
        const bool known = vm != 1 || k < gone;
        EXPECT_EQ(reader.vms()[vm], known ? profile.measured->vms[k][vm] : VmProfile{});
        EXPECT_EQ(reader.curves()[vm].curve(), known ? profile.curve(k, vm) : HitCurve());
      }
    }
  }
}

TEST(Profile, EqualsMeasuringEachIntervalAloneWhereWindowsFillIntervals) {
  Random random(12);
  for (const RiAggregate aggregate : {RiAggregate::kLast, RiAggregate::kMean, RiAggregate::kMax}) {
    expect_naive(random_rows(random, 3), 3,
                 {.interval = 120, .ri_window = 20, .ri_aggregate = aggregate});
  }
}

Profile profile_of(const std::vector<Row>& rows, const ProfileSpec& spec, VmId vm_count = 1) {
  auto profile = characterise_one(intern(rows, vm_count), spec);
  EXPECT_TRUE(profile.ok()) << profile.status();
  return *std::move(profile);
}

TEST(ReuseIntensity, IsTheShareOfRepeats) {
  EXPECT_DOUBLE_EQ(reuse_intensity(9, 10), 0.1);  // Multi-Cache's example
  EXPECT_EQ(reuse_intensity(7, 7), 0);
  EXPECT_EQ(reuse_intensity(0, 0), 0);
  const Profile tenth = profile_of({{0, 0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1}}}, {});
  EXPECT_DOUBLE_EQ(tenth.measured->vms[0][0].reuse_intensity, 0.1);
  EXPECT_EQ(tenth.measured->vms[0][0].ri_window_unique, 9);
  const Profile repeats = profile_of({{0, 0, Keys(8, 5)}}, {});
  EXPECT_DOUBLE_EQ(repeats.measured->vms[0][0].reuse_intensity, 1 - 1.0 / 8);
}

// Windows of 10 in intervals of 20: one repeat in the first window, none in the
// second, which ends with the interval.
TEST(ReuseIntensity, AWindowThatEndsWithTheIntervalBelongsToIt) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {15, 0, {2, 3}}, {25, 0, {4, 4, 4, 4}}};
  const auto first = [&](RiAggregate aggregate) {
    return profile_of(rows, {.interval = 20, .ri_window = 10, .ri_aggregate = aggregate})
        .measured->vms[0][0]
        .reuse_intensity;
  };
  EXPECT_EQ(first(RiAggregate::kLast), 0);
  EXPECT_EQ(first(RiAggregate::kMean), 0.25);
  EXPECT_EQ(first(RiAggregate::kMax), 0.5);
}

TEST(ReuseIntensity, AnEmptyWindowHasNone) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {5, 1, {1}}, {15, 1, {1}}, {25, 0, {1}}};
  const ProfileSpec spec{.interval = 20, .ri_window = 10};
  const Profile profile = profile_of(rows, spec, 2);
  EXPECT_EQ(profile.measured->vms[0][0].reuse_intensity, 0) << "silent in the last window";
  EXPECT_EQ(profile.measured->vms[0][0].ri_window_unique, 0);
  const std::vector<RiSample> series{{10, 0, 0.5, 2}, {10, 1, 0, 1}, {20, 1, 0, 1}, {25, 0, 0, 1}};
  EXPECT_EQ(profile.measured->reuse_intensity, series)
      << "non-empty windows only; the trace ends the last";
}

TEST(ReuseIntensity, StaysWhereNoWindowCloses) {
  const std::vector<Row> rows{{0, 0, {1, 1}}, {12, 0, {2}}, {22, 0, {2}}, {31, 0, {2}}};
  const Profile profile = profile_of(rows, {.interval = 10, .ri_window = 20});
  ASSERT_EQ(profile.interval_count(), 4U);
  EXPECT_EQ(profile.measured->vms[0][0].reuse_intensity, 0) << "the first window is still open";
  EXPECT_DOUBLE_EQ(profile.measured->vms[1][0].reuse_intensity, 1.0 / 3);
  EXPECT_DOUBLE_EQ(profile.measured->vms[2][0].reuse_intensity, 1.0 / 3);
  EXPECT_EQ(profile.measured->vms[3][0].reuse_intensity, 0.5);
}

TEST(ReuseIntensity, BySketchIsWithinItsErrorAndMayBeNegative) {
  Row row{0, 0, {}};
  for (std::uint64_t block = 0; block < 40'000; ++block) row.blocks.push_back(block);
  bool negative = false;
  for (std::size_t length = 20'000; length <= 40'000; length += 2500) {
    Row part = row;
    part.blocks.resize(length);
    const double sketched = profile_of({part}, {.unique = UniqueCounter::kHyperLogLog})
                                .measured->vms[0][0]
                                .reuse_intensity;
    EXPECT_NEAR(sketched, 0, 0.04);
    negative = negative || sketched < 0;
  }
  EXPECT_TRUE(negative);
}

TEST(Profile, IntervalsSumToTheRun) {
  Random random(13);
  const std::vector<Row> rows = random_rows(random, 3);
  const Accesses trace = intern(rows, 3);
  const Profile profile = profile_of(rows, {.interval = 70, .ri_window = 9}, 3);
  for (VmId vm = 0; vm < 3; ++vm) {
    VmProfile sum;
    HitCurve curve;
    for (std::size_t k = 0; k < profile.interval_count(); ++k) {
      const VmProfile& interval = profile.measured->vms[k][vm];
      sum.requests += interval.requests;
      sum.accesses += interval.accesses;
      curve.merge(profile.curve(k, vm));
    }
    EXPECT_EQ(sum.requests, trace.vms[vm].requests);
    EXPECT_EQ(sum.accesses, trace.vms[vm].accesses);
    EXPECT_EQ(curve.accesses(), trace.vms[vm].accesses);
  }
}

TEST(Profile, IntervalsWithoutRequestsAreKept) {
  const Profile profile =
      profile_of({{0, 0, {1, 1}}, {35, 0, {1}}}, {.interval = 10, .ri_window = 5});
  ASSERT_EQ(profile.interval_count(), 4U);
  EXPECT_EQ(profile.measured->vms[1][0].accesses, 0);
  EXPECT_EQ(profile.measured->vms[1][0].reuse_intensity, 0);
  EXPECT_EQ(profile.curve(3, 0).hits(10), 0) << "the first touch of an interval is cold";
}

std::vector<HitCurve> whole_curves(const Accesses& trace) {
  const auto found = characterise(trace, {});
  EXPECT_TRUE(found.ok()) << found.status();
  return found->whole_curves;
}

TEST(Profile, OfNoRequestsHasNoIntervals) {
  const Profile profile = profile_of({}, {}, 2);
  EXPECT_EQ(profile.interval_count(), 0U);
  EXPECT_EQ(whole_curves(intern({}, 2)), std::vector<HitCurve>(2));
}

TEST(Profile, AnIndexedTraceIsCutByReferences) {
  std::vector<Row> rows;
  for (Nanoseconds i = 0; i < 100; ++i) rows.push_back({i, 0, {static_cast<std::uint64_t>(i % 5)}});
  Accesses trace = intern(rows, 1);
  trace.time_base = TimeBase::kIndex;
  const auto profile = characterise_one(trace, {.interval = 50, .ri_window = 10});
  ASSERT_EQ(profile->interval_count(), 2U);
  EXPECT_EQ(profile->measured->vms[1][0].accesses, 50);
  EXPECT_EQ(profile->measured->vms[1][0].reuse_intensity, 0.5);
  EXPECT_EQ(message_of(characterise_one(trace, {.interval = 0}).status()),
            "interval: must be positive, got 0 references");
}

TEST(Profile, WholeCurvesAreThoseOfEachVmsStream) {
  Random random(14);
  const std::vector<Row> rows = random_rows(random, 3);
  const auto curves = whole_curves(intern(rows, 3));
  for (VmId vm = 0; vm < 3; ++vm) {
    EXPECT_EQ(curves[vm], HitCurve(*histogram_of(keys_of(rows, 0, rows.size(), vm))));
  }
}

TEST(Profile, WholeCurvesAreOfWhatComesAfterTheWarmUp) {
  Random random(15);
  const std::vector<Row> rows = random_rows(random, 3);
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

TEST(Profile, MistakesAreNamed) {
  const Accesses trace = intern({{0, 0, {1}}, {3600 * kSecond, 0, {1}}}, 1);
  const auto complaint = [&](const ProfileSpec& spec) {
    return message_of(characterise_one(trace, spec).status());
  };
  EXPECT_EQ(complaint({.interval = -5}), "interval: must be positive, got -5 ns");
  EXPECT_EQ(complaint({.ri_window = 0}), "ri_window: must be positive, got 0 ns");
  EXPECT_EQ(complaint({.distance_limit = -1}),
            "distance_limit: must be 0 (none) or positive, got -1");
  EXPECT_EQ(complaint({.interval = 1000}),
            "interval: 1000 ns cut this trace into 3600000001 pieces; at most 1048576 can be kept");
}

// Long enough for several slabs and VMs of unlike size.
Accesses long_trace() {
  std::vector<Row> rows;
  Random random(15);
  for (Nanoseconds r = 0; r < 60'000; ++r) {
    Row row{r, static_cast<VmId>(random.below(1 + random.below(5))), {}};
    const std::uint64_t first = random.below(1 + random.below(2000));
    for (std::uint64_t b = 0; b < 40; ++b) row.blocks.push_back(first + b);
    rows.push_back(std::move(row));
  }
  return intern(rows, 5);
}

TEST(Profile, IntervalsOfManyBlocksAddUpToTheWholeCurve) {
  std::vector<Row> rows;
  Random random(19);
  for (Nanoseconds r = 0; r < 40'000; ++r) {
    const std::uint64_t first = random.below(60'000);
    rows.push_back({r, static_cast<VmId>(random.below(2)), {first, first + 1, first + 7}});
  }
  const Accesses trace = intern(rows, 2);
  const ProfileSpec spec{.interval = 9'000, .scope = DistanceScope::kCumulative, .ri_window = 700};
  const auto found = characterise(trace, {&spec, 1});
  ASSERT_TRUE(found.ok()) << found.status();
  const Profile& profile = found->profiles.front();
  for (std::size_t vm = 0; vm < 2; ++vm) {
    EXPECT_GT(profile.measured->vms[1][vm].unique_blocks, 4'000);
    EXPECT_EQ(profile.curve(profile.interval_count() - 1, vm), found->whole_curves[vm]);
    EXPECT_EQ(found->whole_curves[vm],
              HitCurve(*histogram_of(keys_of(rows, 0, rows.size(), static_cast<VmId>(vm)))));
  }
}

TEST(Profile, DoesNotDependOnThreads) {
  const Accesses trace = long_trace();
  for (const DistanceScope scope : {DistanceScope::kInterval, DistanceScope::kCumulative}) {
    const ProfileSpec spec{.interval = 7000, .scope = scope, .ri_window = 700};
    const auto one = characterise_one(trace, spec, nullptr, 1);
    ASSERT_TRUE(one.ok());
    for (const int threads : {0, 2, 3, 16}) {
      EXPECT_EQ(*one, *characterise_one(trace, spec, nullptr, threads)) << threads << " threads";
    }
  }
}

TEST(Profile, TicksFromTheCallersThreadAndStopsWhenToldTo) {
  const Accesses trace = long_trace();
  std::vector<Count> ticks;
  const std::thread::id caller = std::this_thread::get_id();
  const Tick count = [&](Count done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ticks.push_back(done);
    return absl::OkStatus();
  };
  ASSERT_TRUE(characterise_one(trace, {.interval = 10'000}, count).ok());
  EXPECT_EQ(static_cast<Count>(ticks.size()), trace.access_count() >> 20) << "one every 2^20";
  EXPECT_TRUE(std::is_sorted(ticks.begin(), ticks.end()));
  EXPECT_LE(ticks.back(), trace.access_count());
  const auto stopped =
      characterise_one(trace, {}, [](Count) { return absl::CancelledError("enough"); });
  EXPECT_EQ(message_of(stopped.status()), "enough");
}

}  // namespace
}  // namespace mcsim
