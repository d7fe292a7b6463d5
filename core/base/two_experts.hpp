#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/portable_math.hpp"
#include "core/base/random.hpp"

namespace mcsim {

// How far each of two experts is followed: by a multiplicative update of their
// weights, which sum to 1 and stay between 0.01 and 0.99, so that neither is ever
// given up.
class TwoExperts {
 public:
  enum Expert { kFirst, kSecond };

  explicit TwoExperts(const Random& random) : random_(random) {}

  Expert choose() { return random_.uniform() < first_ ? kFirst : kSecond; }
  // Of the same draws.
  bool toss() { return random_.uniform() < 0.5; }

  // Divides a weight by e to the loss.
  void punish(Expert expert, double loss) {
    const double kept = portable_exp2(-kLog2E * loss);
    const double first = expert == kFirst ? first_ * kept : first_;
    const double second = expert == kFirst ? 1 - first_ : (1 - first_) * kept;
    first_ = std::clamp(first / (first + second), 0.01, 0.99);
  }

 private:
  static constexpr double kLog2E = 0x1.71547652b82fep+0;

  Random random_;
  double first_ = 0.5;
};

// By which the least frequently used is found.
struct CountAndTie {
  std::uint64_t count;
  std::uint64_t tie;  // among equal counts the least leaves first
  friend bool operator<(const CountAndTie& a, const CountAndTie& b) {
    return std::tie(a.count, a.tie) < std::tie(b.count, b.tie);
  }
};

}  // namespace mcsim
