// Trusts: the weights' definition in the C library's arithmetic, and counts of draws.
#include "core/base/two_experts.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace mcsim {
namespace {

double share_of_first(TwoExperts experts) {
  int first = 0;
  for (int i = 0; i < 20'000; ++i) first += experts.choose() == TwoExperts::kFirst ? 1 : 0;
  return first / 20'000.0;
}

TEST(TwoExperts, AreFollowedAsTheirWeightsSay) {
  TwoExperts experts(Random(3));
  EXPECT_NEAR(share_of_first(experts), 0.5, 0.015);
  double first = 0.5;
  double second = 0.5;
  for (const double loss : {0.1, 0.45, 1.5}) {
    experts.penalize(TwoExperts::kFirst, loss);
    first *= std::exp(-loss);
    EXPECT_NEAR(share_of_first(experts), first / (first + second), 0.015);
  }
  experts.penalize(TwoExperts::kSecond, 1);
  second *= std::exp(-1.0);
  EXPECT_NEAR(share_of_first(experts), first / (first + second), 0.015);
}

TEST(TwoExperts, AreNeverGivenUp) {
  TwoExperts experts(Random(3));
  experts.penalize(TwoExperts::kFirst, 500);
  EXPECT_NEAR(share_of_first(experts), 0.01, 0.004);
  experts.penalize(TwoExperts::kSecond, 500);
  EXPECT_NEAR(share_of_first(experts), 0.99, 0.004);
}

}  // namespace
}  // namespace mcsim
