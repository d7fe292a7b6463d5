// Trusts: a look at all numbers.
#include "core/containers/greatest.hpp"

#include <gtest/gtest.h>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

TEST(Greatest, IsTheFirstOfTheGreatestWhateverChanges) {
  Random random(3);
  for (const std::size_t count : {1U, 2U, 15U, 16U, 17U, 255U, 256U, 257U, 5'000U}) {
    Greatest greatest(count);
    std::vector<Count> numbers(count, 0);
    for (int step = 0; step < 3'000; ++step) {
      const std::size_t i = random.below(count);
      const Count change = static_cast<Count>(random.below(7)) - 3;
      numbers[i] += change;
      greatest.add(i, change);
      const auto first = std::ranges::max_element(numbers);
      ASSERT_EQ(greatest.first(), static_cast<std::size_t>(first - numbers.begin())) << count;
      const Count bound = *first - 1 - static_cast<Count>(random.below(4));
      const auto above = std::ranges::find_if(numbers, [&](Count n) { return n > bound; });
      ASSERT_EQ(greatest.first_above(bound), static_cast<std::size_t>(above - numbers.begin()));
      ASSERT_EQ(greatest[i], numbers[i]);
    }
  }
}

}  // namespace
}  // namespace mcsim
