#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/types.hpp"

// How a share of blocks, accesses or hits becomes a whole number of them. A share is what its
// decimals say: 0.29 of 100 are 29, and at least 0.07 of 100 are 7, although as doubles
// 0.29 * 100 is 28.999999999999996 and 0.07 * 100 is 7.000000000000001.
namespace mcsim {

namespace share_internal {
inline constexpr double kRounding = 1e-12;  // relative: thousands of times what a product loses
inline constexpr double kMost = 0x1p52;     // more than there is of anything
}  // namespace share_internal

// The whole number that is not above; of what was computed, which is 0 or more.
inline Count floor_of(double exact) {
  using namespace share_internal;
  return static_cast<Count>(std::min(exact * (1 + kRounding), kMost));
}

// The whole number that is not below.
inline Count ceil_of(double exact) {
  using namespace share_internal;
  return static_cast<Count>(std::ceil(std::min(exact * (1 - kRounding), kMost)));
}

// At most that share of so many, and at least that share.
inline Count floor_share(double share, Count of) {
  return floor_of(share * static_cast<double>(of));
}
inline Count ceil_share(double share, Count of) { return ceil_of(share * static_cast<double>(of)); }

}  // namespace mcsim
