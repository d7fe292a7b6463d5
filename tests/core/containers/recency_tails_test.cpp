// Trusts: a list of blocks for each owner, counted from its end.
#include "core/containers/recency_tails.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <set>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// With marks, and windows that begin at any time.
TEST(RecencyTails, AreTheEndsOfLists) {
  constexpr std::size_t kBlocks = 12;  // of each owner
  for (const Count length : {1, 2, 5, 11, 40}) {
    SCOPED_TRACE(length);
    Random random(static_cast<std::uint64_t>(length));
    std::vector<std::list<BlockId>> lists(3);  // the most recently used first
    std::vector<std::set<BlockId>> used(lists.size());
    RecencyTails tails(kBlocks * lists.size(), std::vector<std::uint64_t>(lists.size(), kBlocks),
                       length, RecencyTails::Log::marks_for(128));
    for (int step = 0; step < 20'000; ++step) {
      const std::size_t owner = random.below(lists.size());
      std::list<BlockId>& list = lists[owner];
      const auto block = static_cast<BlockId>(owner * kBlocks + random.below(kBlocks));
      const auto held = std::ranges::find(list, block);
      const bool is_held = held != list.end();
      const bool in_tail = is_held && std::distance(held, list.end()) <= length;
      if (is_held) list.erase(held);
      if (random.below(3) == 0) {
        if (!is_held) continue;
        tails.remove(owner, block);
        tails.log().mark(block, 1 + step % 100);
        used[owner].erase(block);
      } else {
        list.push_front(block);
        used[owner].insert(block);
        if (is_held) {
          ASSERT_EQ(tails.use(owner, block), in_tail) << step;
        } else {
          tails.add(owner, block);
        }
      }
      if (random.below(40) == 0) {
        tails.begin_window();
        for (std::set<BlockId>& of : used) of.clear();
      }
      ASSERT_EQ(tails.used(owner), static_cast<Count>(used[owner].size())) << step;
    }
  }
}

}  // namespace
}  // namespace mcsim
