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
    const auto table = std::make_shared<SlotTable>(kBlocks * lists.size(), 1);
    RecencyTails tails(TableColumn(table, 0), std::vector<std::uint64_t>(lists.size(), kBlocks));
    tails.ask(length, RecencyTails::Log::marks_for(128));
    std::vector<RecencyTails::Stack> stacks = tails.stacks();
    for (int step = 0; step < 20'000; ++step) {
      const std::size_t owner = random.below(lists.size());
      std::list<BlockId>& list = lists[owner];
      const auto block = static_cast<BlockId>(owner * kBlocks + random.below(kBlocks));
      const auto held = std::ranges::find(list, block);
      const bool is_held = held != list.end();
      const bool in_tail = is_held && std::distance(held, list.end()) <= length;
      RecencyTails::Stack& stack = stacks[owner];
      const auto left = [&] { return static_cast<Count>(list.size()); };
      ASSERT_EQ(tails.has(block), is_held) << step;
      const std::uint64_t what = random.below(6);
      if (what == 0) {
        if (list.empty()) continue;
        const BlockId last = list.back();
        list.pop_back();
        ASSERT_EQ(tails.demote(stack, left()), last) << step;
        used[owner].erase(last);
      } else if (what == 1) {
        if (!is_held) continue;
        list.erase(held);
        const auto mark = static_cast<RecencyTails::Position>(1 + step % 100);
        ASSERT_EQ(tails.remove(stack, block, left(), mark), in_tail) << step;
        ASSERT_EQ(tails.log().where(block), mark) << step;
        used[owner].erase(block);
      } else {
        if (is_held) {
          ASSERT_EQ(tails.use(stack, block, left()), in_tail) << step;
          list.erase(held);
        } else {
          tails.add(stack, block, left() + 1);
        }
        list.push_front(block);
        used[owner].insert(block);
      }
      if (random.below(40) == 0) {
        for (RecencyTails::Stack& of : stacks) RecencyTails::begin_window(of);
        for (std::set<BlockId>& of : used) of.clear();
      }
      ASSERT_EQ(tails.used(stack), static_cast<Count>(used[owner].size())) << step;
    }
  }
}

}  // namespace
}  // namespace mcsim
