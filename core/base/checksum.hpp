#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mcsim {

// Compute a checksum that detects damaged bytes, about as fast as memory can be read: eight
// independent chains of multiplications, word by word. A change of any single word always changes
// the sum; other damage goes unnoticed with a probability of about 2^-64. Not cryptographic. The
// result is the same on every machine.
//
// Sums can be chained: `seed` is the checksum of the preceding bytes.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace mcsim
