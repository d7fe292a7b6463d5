// Trusts: the difference, where it is a number that MaxTracker has.
#include "core/engine/model/division.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/containers/max_tracker.hpp"

namespace mcsim {
namespace {

TEST(Beyond, IsTheDifferenceAndOfWhoMayHaveAnythingTheLeastThatThereIs) {
  constexpr Count kMost = std::numeric_limits<Count>::max();
  EXPECT_EQ(excess(7, 5), 2);
  EXPECT_EQ(excess(0, 5), -5);
  EXPECT_EQ(excess(3'000'000'000, 2'999'999'999), 1) << "more than half of all blocks";
  MaxTracker amounts(2);
  amounts.set(0, excess(0, kMost));
  EXPECT_EQ(amounts[0], excess(0, kMost)) << "it fits";
  amounts.set(1, excess(5, 5));
  for (int i = 0; i < 1'000; ++i) amounts.add(0, +1);
  EXPECT_EQ(amounts.first(), 1);
}

// A part whose target is out of reach gains and loses every block that there is.
TEST(Excess, LeavesSpaceForAllChangesOfAPart) {
  constexpr Count kAllBlocks = Count{1} << 32;
  for (const Count target :
       {kAllBlocks / 2 + 1, kAllBlocks, kAllBlocks * 2, std::numeric_limits<Count>::max()}) {
    for (const Count held : {Count{0}, Count{1}, kAllBlocks / 2, kAllBlocks - 1}) {
      MaxTracker amounts(2);
      amounts.set(0, excess(held, target));
      amounts.set(1, excess(5, 5));
      const Count before = amounts[0];
      amounts.add(0, -1);
      EXPECT_EQ(amounts[0], before - 1);
      EXPECT_EQ(amounts.first(), before > 1 ? 0 : 1) << held << " of " << target;
      amounts.add(0, 1 - held);
      EXPECT_EQ(amounts[0], before - held);
      amounts.add(0, kAllBlocks);
      EXPECT_EQ(amounts[0], before - held + kAllBlocks);
    }
  }
}

}  // namespace
}  // namespace mcsim
