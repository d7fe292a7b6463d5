// Trusts: the binomial law. Every frequency lies within 5 sigma of its weight.
#include "core/containers/alias_table.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace mcsim {
namespace {

void expect_frequencies(const std::vector<double>& weights) {
  constexpr int kDraws = 200'000;
  const AliasTable table(weights);
  Random random(1);
  std::vector<int> count(weights.size());
  for (int i = 0; i < kDraws; ++i) ++count[table.draw(random)];
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / sum;
    EXPECT_NEAR(count[i], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << i;
  }
}

TEST(AliasTable, DrawsInProportionToTheWeights) {
  expect_frequencies({1});
  expect_frequencies({0, 1});
  expect_frequencies({1, 1, 1});
  expect_frequencies({0.5, 100, 3, 0, 20, 7e-3});
}

TEST(AliasTable, DrawsManyAsOneByOne) {
  const AliasTable table(std::vector<double>{1, 2, 3, 4});
  Random one(7);
  Random many(7);
  std::vector<std::size_t> drawn(100);
  table.draw(many, drawn);
  for (const std::size_t index : drawn) ASSERT_EQ(table.draw(one), index);
}

TEST(AliasTable, KeepsAWeightOfZeroForGood) {
  std::vector<double> weights(1000, 1.0 / 3);
  weights[0] = weights[999] = 0;
  const AliasTable table(weights);
  Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t drawn = table.draw(random);
    ASSERT_NE(drawn, 0U);
    ASSERT_NE(drawn, 999U);
  }
}

}  // namespace
}  // namespace mcsim
