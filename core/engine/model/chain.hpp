#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"

namespace mcsim {

// How blocks move between tiers.
enum class Chain : std::uint8_t {
  kExclusive,    // a block is in one tier: hits promote it, victims are demoted
  kVictim,       // victims are demoted, too, but a hit in a slower tier keeps the copy there
  kInclusive,    // a block enters all tiers; its eviction removes the copies above
  kIndependent,  // a block enters all tiers; each evicts on its own
};

template <>
struct Choices<Chain> {
  static constexpr std::array names{
      std::pair{"exclusive", Chain::kExclusive}, std::pair{"victim", Chain::kVictim},
      std::pair{"inclusive", Chain::kInclusive}, std::pair{"independent", Chain::kIndependent}};
};

// The tiers, one bit each, that a block enters in an inclusive chain, given the `tiers` that admit
// it. A tier that rejects the block also keeps it out of the tiers above. `found`: the tier that
// held the block.
inline unsigned without_gaps(unsigned tiers, std::size_t found) {
  std::size_t top = found;
  while (top > 0 && (tiers >> (top - 1) & 1) != 0) --top;
  return tiers >> top << top;
}

}  // namespace mcsim
