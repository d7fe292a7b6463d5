// Trusts: the C library's functions, to their last digits.
#include "core/base/portable_math.hpp"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace mcsim {
namespace {

TEST(PortableMath, Log2AgreesWithTheLibrary) {
  for (double x = 1e-6; x < 1e12; x *= 1.37) {
    EXPECT_NEAR(portable_log2(x), std::log2(x), 2e-14 * std::max(1.0, std::abs(std::log2(x))));
  }
  EXPECT_EQ(portable_log2(1), 0);
  EXPECT_EQ(portable_log2(1024), 10);
}

TEST(PortableMath, Exp2AgreesWithTheLibrary) {
  for (double x = -90; x < 90; x += 0.173) {
    EXPECT_NEAR(portable_exp2(x) / std::exp2(x), 1, 4e-15) << x;
  }
  EXPECT_EQ(portable_exp2(-3), 0.125);
}

TEST(PortableMath, CosineAgreesWithTheLibrary) {
  for (double turns = -3; turns < 3; turns += 0.0137) {
    EXPECT_NEAR(portable_cos_turns(turns), std::cos(2 * std::numbers::pi * turns), 2e-14) << turns;
  }
  EXPECT_EQ(portable_cos_turns(7), 1);
}

}  // namespace
}  // namespace mcsim
