// Trusts: arithmetic on two clients and one device.
#include "policies/allocation/baa.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcsim {
namespace {

using ::testing::ElementsAre;

TEST(Baa, ThoseWhoNeedOneDeviceEachHaveItToThemselves) {
  EXPECT_THAT(bottleneck_aware(std::vector{1.0, 0.0}, 5'000, 100), ElementsAre(5'000, 100));
  EXPECT_THAT(bottleneck_aware(std::vector{1.0, 1.0}, 5'000, 100), ElementsAre(2'500, 2'500));
  EXPECT_THAT(bottleneck_aware(std::vector{0.0}, 5'000, 100), ElementsAre(100));
}

// A device with `iops` or `bandwidth` counts with these; bytes of operations count, too.
TEST(Baa, DevicesSayWhatTheyCanDo) {
  Device device{.name = "d", .read_ns = 1e6};
  EXPECT_DOUBLE_EQ(device.busy_ns(4096), 1e6) << "one read after the other";
  device.iops = 5'000;
  EXPECT_DOUBLE_EQ(device.busy_ns(4096), 2e5) << "several at a time";
  device.bandwidth = 4096 * 100;
  EXPECT_DOUBLE_EQ(device.busy_ns(4096), 1e7) << "100 blocks a second";
  EXPECT_DOUBLE_EQ(device.busy_ns(4), 2e5);
}

}  // namespace
}  // namespace mcsim
