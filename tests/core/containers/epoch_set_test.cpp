#include "core/containers/epoch_set.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/base/random.hpp"
#include "core/base/types.hpp"

namespace mcsim {
namespace {

TEST(EpochSet, HoldsWhatWasInsertedSinceTheLastClear) {
  EpochSet set(3);
  EXPECT_TRUE(set.insert(2));
  EXPECT_FALSE(set.insert(2));
  EXPECT_TRUE(set.insert(0));
  set.clear();
  EXPECT_TRUE(set.insert(2));
  EXPECT_TRUE(set.insert(1));
  EXPECT_FALSE(set.insert(1));
}

}  // namespace
}  // namespace mcsim
