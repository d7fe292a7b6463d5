// Trusts: measurements of each single period, and curves added up from the first
// period that they cover (characterise_test holds both to the definitions).
#include "core/locality/profile/meter_reader.hpp"

#include <gtest/gtest.h>

#include "tests/support/naive_meters.hpp"

namespace mcsim {
namespace {

using naive::intern;
using naive::random_rows;
using naive::random_spec;

constexpr std::size_t kVms = 3;

// The visible row of a series after a number of periods.
template <class T>
T row_at(const Series<T>& series, std::size_t begun, VmId vm) {
  return begun < 2 ? T{} : series[std::min(begun - 2, series.size() - 1)][vm];
}

// A reading of one VM against what was measured.
struct Shown {
  const Reading& reading;
  std::size_t begun;
  VmId vm;
  bool known;

  void operator()(const std::vector<DistanceLog>&) const {}
  void operator()(const Series<Load>& of) const { expect(reading.loads, of); }
  void operator()(const Series<Count>& of) const { expect(reading.distinct, of); }
  void operator()(const IntensitySeries& of) const { expect(reading.intensities, of.values); }
  void operator()(const Series<ClassCounts>& of) const { expect(reading.classes, of); }
  void operator()(const Series<Responses>& of) const { expect(reading.responses, of); }

  template <class T>
  void expect(std::span<const T> shown, const Series<T>& of) const {
    ASSERT_EQ(shown.size(), kVms);
    EXPECT_EQ(shown[vm], known ? row_at(of, begun, vm) : T{});
  }
};

void expect_shown(const Reading& reading, const MeterResult& metered, std::size_t begun, VmId vm,
                  bool known) {
  std::visit(Shown{reading, begun, vm, known}, *metered.measured);
  const bool is_curve = std::holds_alternative<CurveMeter>(metered.spec.what);
  ASSERT_EQ(reading.curves.size(), is_curve ? kVms : 0);
  if (!is_curve) return;
  EXPECT_EQ(reading.curves[vm].curve(), known ? curve_at(metered, begun, vm) : HitCurve());
}

TEST(MeterReader, ShowsPeriodByPeriodAndForgets) {
  Random random(18);
  for (int round = 0; round < 120; ++round) {
    Accesses trace = intern(random_rows(random, kVms), kVms);
    trace.warm_up = random.below(trace.request_count());
    const MeterSpec spec = random_spec(random);
    const MeterResult metered = characterise(trace, {&spec, 1})->meters.front();
    const std::size_t gone = random.below(metered.periods() + 2);
    MeterReader reader(metered);
    for (std::size_t begun = 0; begun <= metered.periods() + 1; ++begun) {
      if (begun > 0) reader.advance();
      if (begun == gone) reader.forget(1);
      for (VmId vm = 0; vm < kVms; ++vm) {
        SCOPED_TRACE(testing::Message() << round << ": " << name_of(spec.what) << ", vm " << vm
                                        << ", begun " << begun << ", gone " << gone);
        if (begun == 0 && std::holds_alternative<CurveMeter>(spec.what)) {
          EXPECT_EQ(reader.reading().curves[vm].curve(), HitCurve());
          continue;
        }
        expect_shown(reader.reading(), metered, begun, vm, vm != 1 || begun < gone);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(MeterReader, BeforeTheFirstPeriodOnlyForesightKnows) {
  const std::vector<naive::Row> rows{{0, 0, {1, 2, 1}}, {10, 0, {1, 1, 1, 2}}};
  const Accesses trace = intern(rows, 1);
  const auto hits_after = [&](Foresight foresight, int advances) {
    const MeterSpec spec{.clock = {.period = 10}, .what = CurveMeter{.foresight = foresight}};
    MeterReader reader(characterise(trace, {&spec, 1})->meters.front());
    while (advances-- > 0) reader.advance();
    return reader.reading().curves[0].hits(9);
  };
  EXPECT_EQ(hits_after(Foresight::kNone, 1), 0);
  EXPECT_EQ(hits_after(Foresight::kNone, 2), 1);
  EXPECT_EQ(hits_after(Foresight::kNone, 3), 2);
  EXPECT_EQ(hits_after(Foresight::kNext, 1), 1);
  EXPECT_EQ(hits_after(Foresight::kNext, 2), 2);
  EXPECT_EQ(hits_after(Foresight::kNext, 3), 2) << "no period begins any more";
  EXPECT_EQ(hits_after(Foresight::kWhole, 1), 5);
  EXPECT_EQ(hits_after(Foresight::kWhole, 3), 5);
}

}  // namespace
}  // namespace mcsim
