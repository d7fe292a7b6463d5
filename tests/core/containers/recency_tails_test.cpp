// Trusts: a list of blocks for each owner, counted from its end.
#include "core/containers/recency_tails.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

TEST(RecencyTails, AreTheEndsOfLists) {
  constexpr std::size_t kBlocks = 12;  // of each owner
  for (const Count length : {1, 2, 5, 11, 40}) {
    SCOPED_TRACE(length);
    Random random(static_cast<std::uint64_t>(length));
    std::vector<std::list<BlockId>> lists(3);  // the most recently used first
    RecencyTails tails(kBlocks * lists.size(), std::vector<std::uint64_t>(lists.size(), kBlocks),
                       length);
    for (int step = 0; step < 20'000; ++step) {
      const std::size_t owner = random.below(lists.size());
      std::list<BlockId>& list = lists[owner];
      const auto block = static_cast<BlockId>(owner * kBlocks + random.below(kBlocks));
      const auto held = std::ranges::find(list, block);
      const bool in_tail = held != list.end() && std::distance(held, list.end()) <= length;
      if (held != list.end()) list.erase(held);
      if (random.below(3) == 0) {
        tails.remove(owner, block);
        continue;
      }
      list.push_front(block);
      ASSERT_EQ(tails.use(owner, block), in_tail) << step;
    }
  }
}

}  // namespace
}  // namespace mcsim
