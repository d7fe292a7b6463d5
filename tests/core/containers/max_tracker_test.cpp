// Trusts: a look at all numbers.
#include "core/containers/max_tracker.hpp"

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

TEST(MaxTracker, FindsTheFirstMaximum) {
  Random random(3);
  for (const std::size_t count : {1U, 2U, 15U, 16U, 17U, 255U, 256U, 257U, 5'000U}) {
    MaxTracker greatest(count);
    std::vector<Count> numbers(count, 0);
    std::size_t last = 0;
    for (int step = 0; step < 3'000; ++step) {
      // Often the last changed element, which is not flushed yet.
      const std::size_t i = random.below(2) == 0 ? last : random.below(count);
      last = i;
      const Count change = static_cast<Count>(random.below(7)) - 3;
      numbers[i] += change;
      if (random.below(2) == 0) {
        greatest.add(i, change);
      } else {
        greatest.set(i, numbers[i]);
      }
      ASSERT_EQ(greatest[i], numbers[i]);
      if (random.below(3) == 0) continue;
      const auto first = std::ranges::max_element(numbers);
      ASSERT_EQ(greatest.first(), static_cast<std::size_t>(first - numbers.begin())) << count;
      auto more = numbers;
      const std::size_t with = random.below(2) == 0 ? last : random.below(count);
      ++more[with];
      const auto first_then = std::ranges::max_element(more) - more.begin();
      ASSERT_EQ(greatest.first_with_one_more(with), static_cast<std::size_t>(first_then));
      const Count bound = *first - 1 - static_cast<Count>(random.below(4));
      const auto above = std::ranges::find_if(numbers, [&](Count n) { return n > bound; });
      ASSERT_EQ(greatest.first_above(bound), static_cast<std::size_t>(above - numbers.begin()));
    }
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(greatest[i], numbers[i]);
  }
}

}  // namespace
}  // namespace mcsim
