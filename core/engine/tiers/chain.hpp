#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"

namespace mcsim {

// How blocks move between tiers.
enum class Chain : std::uint8_t {
  kExclusive,    // a block is in one tier: hits bring it up, victims go down
  kVictim,       // victims go down too, but a hit below leaves its copy there
  kInclusive,    // a block comes into all tiers, and leaves those above the one it leaves
  kIndependent,  // a block comes into all tiers, and each keeps it as it likes
};

template <>
struct Choices<Chain> {
  static constexpr std::array names{
      std::pair{"exclusive", Chain::kExclusive}, std::pair{"victim", Chain::kVictim},
      std::pair{"inclusive", Chain::kInclusive}, std::pair{"independent", Chain::kIndependent}};
};

// The tiers that a block enters in an inclusive chain, a bit each, out of `tiers`, which admit it.
// A tier that refuses the block keeps it from the tiers above. `found`: the tier that held it.
inline unsigned without_gaps(unsigned tiers, std::size_t found) {
  std::size_t top = found;
  while (top > 0 && (tiers >> (top - 1) & 1) != 0) --top;
  return tiers >> top << top;
}

}  // namespace mcsim
