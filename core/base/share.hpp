#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/types.hpp"

// Turn a share of blocks, accesses or hits into a whole number. Shares are read as decimals: 0.29
// of 100 is 29, and at least 0.07 of 100 is 7, although as doubles 0.29 * 100 is 28.999999999999996
// and 0.07 * 100 is 7.000000000000001.
namespace mcsim {

namespace share_internal {
inline constexpr double kRounding = 1e-12;  // relative: thousands of times the error of a product
inline constexpr double kMost = 0x1p52;     // larger than any count
}  // namespace share_internal

// The largest whole number that is not above a computed value >= 0, up to rounding errors.
inline Count floor_of(double exact) {
  using namespace share_internal;
  return static_cast<Count>(std::min(exact * (1 + kRounding), kMost));
}

// The smallest whole number that is not below it.
inline Count ceil_of(double exact) {
  using namespace share_internal;
  return static_cast<Count>(std::ceil(std::min(exact * (1 - kRounding), kMost)));
}

// `share` of `of`, rounded down or up.
inline Count floor_share(double share, Count of) {
  return floor_of(share * static_cast<double>(of));
}
inline Count ceil_share(double share, Count of) { return ceil_of(share * static_cast<double>(of)); }

}  // namespace mcsim
