// Trusts: a sorted map.
#include "core/containers/monotone_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// Keys near the floor, far beyond, and everything between.
std::uint64_t some_rise(Random& random) {
  return random.below(std::uint64_t{1} << random.below(14));
}

TEST(MonotoneQueue, IsAMapSortedByKeyAndAge) {
  for (const std::size_t slots : {1, 2, 30, 2000}) {
    SCOPED_TRACE(slots);
    MonotoneQueue queue(slots);
    std::map<std::pair<std::uint64_t, int>, Slot> sorted;  // by key and time
    std::vector<std::pair<std::uint64_t, int>> place(slots);
    std::vector<bool> present(slots, false);
    std::uint64_t floor = 0;
    Random random(slots);
    for (int now = 0; now < 20'000; ++now) {
      const auto slot = static_cast<Slot>(random.below(slots));
      const std::uint64_t key = floor + some_rise(random);
      if (!present[slot]) {
        queue.insert(slot, key);
      } else {
        sorted.erase(place[slot]);
        queue.update(slot, key);
      }
      present[slot] = true;
      place[slot] = {key, now};
      sorted[place[slot]] = slot;
      ASSERT_EQ(queue.key(slot), key);
      if (random.below(3) == 0) {
        const auto least = sorted.begin();
        ASSERT_EQ(queue.least(), least->second) << now;
        floor = least->first.first;
        if (random.below(2) == 0) {
          queue.erase(least->second);
          present[least->second] = false;
          sorted.erase(least);
        }
      }
      ASSERT_EQ(queue.size(), static_cast<Count>(sorted.size()));
      if (now % 100 == 0) {
        const absl::Status checked = queue.check();
        ASSERT_TRUE(checked.ok()) << checked.message();
      }
    }
  }
}

TEST(MonotoneQueue, GrowsWithItsElements) {
  MonotoneQueue queue(2);
  queue.insert(0, 5);
  queue.insert(1, 1'000'000);
  queue.reserve(4);
  queue.insert(3, 4);
  EXPECT_EQ(queue.slots(), 4);
  EXPECT_EQ(queue.least(), 3);
  queue.erase(3);
  queue.erase(0);
  EXPECT_EQ(queue.least(), 1);
  EXPECT_TRUE(queue.check().ok());
}

}  // namespace
}  // namespace mcsim
