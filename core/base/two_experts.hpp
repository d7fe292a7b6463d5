#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "core/base/portable_math.hpp"
#include "core/base/random.hpp"

namespace mcsim {

// Choose between two experts by multiplicative weights. The weights sum to 1 and stay between 0.01
// and 0.99, so that both experts keep a chance.
class TwoExperts {
 public:
  enum Expert { kFirst, kSecond };

  explicit TwoExperts(const Random& random) : random_(random) {}

  Expert choose() { return random_.uniform() < first_ ? kFirst : kSecond; }
  // A fair coin, drawn from the same generator.
  bool flip_coin() { return random_.uniform() < 0.5; }

  // Multiply the expert's weight by e^-loss, and normalise.
  void penalize(Expert expert, double loss) {
    const double kept = portable_exp2(-kLog2E * loss);
    const double first = expert == kFirst ? first_ * kept : first_;
    const double second = expert == kFirst ? 1 - first_ : (1 - first_) * kept;
    first_ = std::clamp(first / (first + second), 0.01, 0.99);
  }

  auto state() { return std::tie(random_, first_); }

 private:
  static constexpr double kLog2E = 0x1.71547652b82fep+0;

  Random random_;
  double first_ = 0.5;
};

// The order in which the least frequently used element is found.
struct CountAndTie {
  std::uint64_t count;
  std::uint64_t tie;  // among equal counts, the smallest tie leaves first
  friend bool operator<(const CountAndTie& a, const CountAndTie& b) {
    return std::tie(a.count, a.tie) < std::tie(b.count, b.tie);
  }
};

}  // namespace mcsim
