// Trusts: the error law of HyperLogLog and the algebra of unions.
#include "core/containers/hyperloglog.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace mcsim {
namespace {

TEST(HyperLogLog, ErrsLessThanFourStandardErrors) {
  for (const int precision : {4, 7, 10, 12, 14}) {
    HyperLogLog sketch(precision);
    const double bound = 4 * 1.04 / std::sqrt(std::ldexp(1.0, precision));
    EXPECT_DOUBLE_EQ(4 * sketch.standard_error(), bound);
    double check_at = 1;
    for (int n = 1; n <= 1'000'000; ++n) {
      sketch.add(static_cast<std::uint64_t>(n));
      if (n < check_at) continue;
      EXPECT_LT(std::abs(sketch.estimate() - n) / n, bound) << "n = " << n << ", p = " << precision;
      check_at *= 1.3;
    }
  }
}

TEST(HyperLogLog, RepeatsDoNotCount) {
  HyperLogLog once(12);
  HyperLogLog often(12);
  for (std::uint64_t key = 0; key < 5000; ++key) once.add(key);
  for (std::uint64_t i = 0; i < 50'000; ++i) often.add(i % 5000);
  EXPECT_EQ(once.estimate(), often.estimate());
}

TEST(HyperLogLog, MergeIsTheSketchOfTheUnion) {
  HyperLogLog left(10);
  HyperLogLog right(10);
  HyperLogLog both(10);
  for (std::uint64_t key = 0; key < 30'000; ++key) {
    if (key < 20'000) left.add(key);
    if (key >= 10'000) right.add(key);
    both.add(key);
  }
  ASSERT_TRUE(left.merge(right).ok());
  EXPECT_EQ(left.estimate(), both.estimate());
}

TEST(HyperLogLog, MergeRefusesAnotherPrecision) {
  HyperLogLog sketch(10);
  EXPECT_EQ(message_of(sketch.merge(HyperLogLog(11))),
            "HyperLogLog of precision 10 cannot be merged with one of 11");
}

TEST(HyperLogLog, PrecisionForAnError) {
  EXPECT_EQ(HyperLogLog::precision_for(0.01).value(), 14);  // 1.04 / 128 = 0.0081
  EXPECT_EQ(HyperLogLog::precision_for(0.02).value(), 12);  // 1.04 / 64 = 0.0163
  EXPECT_EQ(HyperLogLog::precision_for(1.0).value(), 4);
  EXPECT_EQ(message_of(HyperLogLog::precision_for(0.001).status()),
            "HyperLogLog cannot reach a standard error of 0.001: its best is 0.0020");
}

TEST(HyperLogLog, ClearForgets) {
  HyperLogLog sketch(8);
  EXPECT_EQ(sketch.estimate(), 0);
  for (std::uint64_t key = 0; key < 100; ++key) sketch.add(key);
  sketch.clear();
  EXPECT_EQ(sketch.estimate(), 0);
}

}  // namespace
}  // namespace mcsim
