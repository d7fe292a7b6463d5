#pragma once

#include <cstdint>
#include <limits>

namespace mcsim {

// An index into the arrays of a cache: one for every resident block and every ghost entry.
using Slot = std::uint32_t;

inline constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

}  // namespace mcsim
