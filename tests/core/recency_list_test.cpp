// Trusts: a std::vector whose elements are moved by hand.
#include "core/containers/recency_list.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

TEST(RecencyList, EqualsAVectorMoveByMove) {
  RecencyList<int> list;
  std::vector<int> twin;  // most recent first
  Random random(3);
  for (int step = 0; step < 60'000; ++step) {
    if (twin.empty() || random.below(20) == 0) {
      list.push_front(step);
      twin.insert(twin.begin(), step);
    } else {
      const std::size_t k = random.below(twin.size());
      const int moved = twin[k];
      twin.erase(twin.begin() + static_cast<std::ptrdiff_t>(k));
      twin.insert(twin.begin(), moved);
      ASSERT_EQ(list.at(k), moved);
      ASSERT_EQ(list.move_to_front(k), moved);
    }
    ASSERT_EQ(list.size(), twin.size());
  }
  for (std::size_t k = 0; k < twin.size(); ++k) ASSERT_EQ(list.at(k), twin[k]);
}

TEST(RecencyList, SurvivesPackingAtEverySize) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{512}, std::size_t{4096}}) {
    RecencyList<std::size_t> list;
    for (std::size_t i = 0; i < size; ++i) list.push_front(i);
    // Moving the last to the front `size` times rotates the list once.
    for (int turn = 0; turn < 3; ++turn) {
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(list.move_to_front(size - 1), i);
    }
  }
}

}  // namespace
}  // namespace mcsim
