// Trusts: parameters that are written down again as they were read; sentences worked by hand.
#include "core/locality/profile/meters.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/naive_meters.hpp"

namespace mcsim {
namespace {

TEST(Meters, AreNamedAndWrittenDownAndReadAgain) {
  Random random(1);
  std::set<std::string> names;
  for (int round = 0; round < 300; ++round) {
    const MeterKind meter = naive::random_meter(random, {.period = 1000});
    const auto again = meter_named(name_of(meter), params_of(meter));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, meter);
    names.insert(name_of(meter));
  }
  EXPECT_EQ(names.size(), std::variant_size_v<MeterKind>) << "each of another name";
  std::set<std::string> described;
  for (const auto& [info, params] : describe_meters()) {
    described.insert(info.name);
    EXPECT_EQ(params.size(), params_of(*meter_named(info.name, {})).size()) << info.name;
  }
  EXPECT_EQ(described, names);
}

TEST(Meters, AreTheirDefaultsUnlessToldOtherwise) {
  EXPECT_EQ(*meter_named("curve", {}), MeterKind{CurveMeter{}});
  EXPECT_EQ(*meter_named("curve", {{"ops", std::string("reads")}, {"window", std::int64_t{30}}}),
            MeterKind(CurveMeter{.ops = OpFilter::kReads, .window = {30}}));
  EXPECT_EQ(*meter_named("intensity", {{"kind", std::string("per-second")}}),
            MeterKind(IntensityMeter{.kind = IntensityKind::kPerSecond}));
}

TEST(Meters, MistakesAreNamed) {
  const auto complaint = [](const char* name, const ParamMap& params) {
    return message_of(meter_named(name, params).status());
  };
  EXPECT_EQ(complaint("curves", {}),
            "no meter 'curves'; there are curve, load, distinct, intensity, classes, responses");
  EXPECT_EQ(complaint("curve", {{"opps", std::string("reads")}}),
            "unknown parameter 'opps' (did you mean 'ops'?)");
  EXPECT_EQ(complaint("load", {{"ops", std::string("reads")}}), "unknown parameter 'ops'");
  EXPECT_EQ(complaint("responses", {{"window", std::int64_t{-1}}}),
            "window: -1 is outside [0, inf]");
  EXPECT_EQ(complaint("classes", {{"scope", std::string("hour")}}),
            "scope: unknown choice 'hour' (one of interval, cumulative, warm)");
  EXPECT_EQ(complaint("curve", {{"scope", std::string("hour")}}),
            "scope: unknown choice 'hour' (one of interval, cumulative, warm)");
  EXPECT_EQ(complaint("distinct", {{"reuses", std::int64_t{-1}}}),
            "reuses: -1 is outside [0, inf]");
  EXPECT_EQ(complaint("distinct", {{"reuses", std::string("many")}}), "reuses: expected a number");
  EXPECT_EQ(complaint("intensity", {{"window", std::int64_t{0}}}), "window: 0 is outside [1, inf]");
}

}  // namespace
}  // namespace mcsim
