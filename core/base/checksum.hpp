#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mcsim {

// Tells damaged bytes from whole ones, as fast as memory can be read: eight chains of
// multiplications side by side, word by word, so that a change of any one word changes
// the sum for certain, and other damage but for an accident of 64 bits. No defence against
// those who want to deceive. The same on every machine.
//
// Sums are chained: `seed` is the sum of what comes before.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace mcsim
