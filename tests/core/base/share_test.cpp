// Trusts: integer arithmetic on hundredths.
#include "core/base/share.hpp"

#include <gtest/gtest.h>

namespace mcsim {
namespace {

TEST(Shares, AreWhatTheirDecimalsSay) {
  EXPECT_LT(0.29 * 100, 29) << "or nothing is tested here";
  EXPECT_GT(0.07 * 100, 7);
  for (Count hundredths = 0; hundredths <= 100; ++hundredths) {
    const double share = static_cast<double>(hundredths) / 100;
    for (Count of = 0; of <= 3'000; ++of) {
      ASSERT_EQ(floor_share(share, of), hundredths * of / 100) << share << " of " << of;
      ASSERT_EQ(ceil_share(share, of), (hundredths * of + 99) / 100) << share << " of " << of;
    }
  }
}

TEST(Shares, OfManyBlocksAreNotRounded) {
  const Count many = Count{1} << 32;
  for (Count missing = 1; missing < 10; ++missing) {
    const double share = static_cast<double>(many - missing) / static_cast<double>(2 * many);
    const Count whole = (many - missing) / 2;
    EXPECT_EQ(floor_share(share, many), whole) << "half a block is none";
    EXPECT_EQ(ceil_share(share, many), whole + missing % 2) << "and one that is needed";
  }
}

TEST(Shares, ThatAreBeyondAnyNumberAreTheLargest) {
  EXPECT_EQ(floor_share(1e300, 1'000'000), Count{1} << 52);
  EXPECT_EQ(ceil_share(1e300, 1'000'000), Count{1} << 52);
}

}  // namespace
}  // namespace mcsim
