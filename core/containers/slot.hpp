#pragma once

#include <cstdint>
#include <limits>

namespace mcsim {

// A place in the arrays of a cache: one for every block that it holds or, as a
// ghost, remembers.
using Slot = std::uint32_t;

inline constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

}  // namespace mcsim
