#include "core/base/portable_math.hpp"

#include <cmath>

namespace mcsim {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kTwoPi = 0x1.921fb54442d18p+2;

}  // namespace

double portable_log2(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact, like ldexp and floor below
  if (mantissa < 0x1.6a09e667f3bcdp-1) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh(s) with |s| <= 0.172: each term is at least 33 times smaller than the one
  // before.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent + 2 * s * sum / kLn2;
}

double portable_exp2(double x) {
  const double whole = std::floor(x + 0.5);
  const double y = (x - whole) * kLn2;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + sum * y / k;
  return std::ldexp(sum, static_cast<int>(whole));
}

double portable_cos_turns(double turns) {
  const double fraction = turns - std::floor(turns + 0.5);
  const double y = fraction * kTwoPi;
  double sum = 1;
  for (int k = 26; k >= 2; k -= 2) sum = 1 - sum * y * y / (k * (k - 1));
  return sum;
}

}  // namespace mcsim
