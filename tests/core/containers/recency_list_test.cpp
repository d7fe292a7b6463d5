// Trusts: a std::vector with elements moved by hand.
#include "core/containers/recency_list.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

// Uses positions one by one on a vector, most recent first.
void use(std::vector<int>& twin, std::size_t position, int& value) {
  if (position < twin.size()) {
    value = twin[position];
    twin.erase(twin.begin() + static_cast<std::ptrdiff_t>(position));
  }
  twin.insert(twin.begin(), value);
}

TEST(RecencyList, EqualsAVectorMoveByMove) {
  RecencyList<int> list;
  std::vector<int> twin;
  Random random(3);
  for (int fresh = 0; fresh < 60'000;) {
    std::vector<std::size_t> positions(1 + random.below(40));
    std::vector<int> values(positions.size());
    std::vector<int> expected(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      // Positions that lie inside the batch, deep ones, and new elements.
      const std::uint64_t kind = random.below(20);
      positions[i] = kind == 0 ? 1'000'000 : random.below(kind < 4 ? 8 : twin.size() + 1);
      values[i] = expected[i] = fresh++;
      use(twin, positions[i], expected[i]);
    }
    list.use(positions, values);
    ASSERT_EQ(values, expected);
    ASSERT_EQ(list.size(), twin.size());
  }
}

TEST(RecencyList, SurvivesPackingAtEverySize) {
  for (const std::size_t size : {1U, 512U, 4095U, 4096U, 4097U}) {
    RecencyList<std::size_t> list;
    std::vector<std::size_t> values(size);
    std::iota(values.begin(), values.end(), 0U);
    list.use(std::vector<std::size_t>(size, size), values);
    // Moving the last to the front `size` times turns the list once.
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<std::size_t> turned(size);
      list.use(std::vector<std::size_t>(size, size - 1), turned);
      ASSERT_EQ(turned, values);
    }
  }
}

}  // namespace
}  // namespace mcsim
