// Trusts: a sorted map.
#include "core/containers/future_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using Position = FutureQueue::Position;

// Sometimes never, and positions both dense and far apart.
Position some_use(Random& random, std::size_t positions) {
  if (random.below(10) == 0) return FutureQueue::kNever;
  return static_cast<Position>(random.below(random.below(2) == 0 ? positions : positions / 50 + 1));
}

TEST(FutureQueue, IsAMapSortedByUse) {
  for (const std::size_t positions : {1, 64, 65, 5'000, 300'000}) {
    SCOPED_TRACE(positions);
    constexpr std::size_t kSlots = 200;
    FutureQueue queue(positions, kSlots);
    std::map<std::pair<Position, int>, Slot> sorted;  // those of one use by time: of never alone
    std::vector<std::pair<Position, int>> place(kSlots);
    std::vector<bool> present(kSlots, false);
    Random random(positions);
    const auto erase = [&](Slot slot) {
      queue.erase(slot);
      sorted.erase(place[slot]);
      present[slot] = false;
    };
    for (int now = 0; now < 20'000; ++now) {
      const auto slot = static_cast<Slot>(random.below(kSlots));
      const Position use = some_use(random, positions);
      if (present[slot]) erase(slot);
      const bool taken = use != FutureQueue::kNever && sorted.contains({use, 0});
      if (!taken) {
        place[slot] = {use, use == FutureQueue::kNever ? now : 0};
        queue.insert(slot, use);
        sorted[place[slot]] = slot;
        present[slot] = true;
      }
      ASSERT_EQ(queue.size(), static_cast<Count>(sorted.size()));
      if (!sorted.empty() && random.below(3) == 0) {
        ASSERT_EQ(queue.farthest(), sorted.rbegin()->second) << now;
        erase(queue.farthest());
      }
      if (now % 100 == 0) {
        const absl::Status checked = queue.check();
        ASSERT_TRUE(checked.ok()) << checked.message();
      }
    }
  }
}

TEST(FutureQueue, KeepsWhatItHasAsItGrows) {
  FutureQueue queue(1'000, 2);
  queue.insert(0, 10);
  queue.insert(1, 900);
  queue.reserve(3);
  queue.insert(2, 901);
  EXPECT_EQ(queue.farthest(), 2);
  queue.erase(2);
  EXPECT_EQ(queue.farthest(), 1);
  EXPECT_TRUE(queue.check().ok());
}

}  // namespace
}  // namespace mcsim
