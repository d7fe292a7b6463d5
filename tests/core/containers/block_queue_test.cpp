// Trusts: a std::list.
#include "core/containers/block_queue.hpp"

#include <gtest/gtest.h>

#include <list>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

TEST(BlockQueue, IsAListFromWhichAnyMayLeave) {
  Random random(5);
  for (const std::uint32_t blocks : {1U, 3U, 200U}) {
    BlockQueue queue(blocks);
    std::list<BlockId> list;
    for (int step = 0; step < 20'000; ++step) {
      const auto block = static_cast<BlockId>(random.below(blocks));
      const auto found = std::ranges::find(list, block);
      if (found != list.end()) {
        queue.erase(block);
        list.erase(found);
      } else {
        queue.push(block);
        list.push_back(block);
      }
      ASSERT_EQ(queue.size(), static_cast<Count>(list.size()));
      if (!list.empty()) {
        ASSERT_EQ(queue.front(), list.front());
      }
    }
  }
}

}  // namespace
}  // namespace mcsim
