#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/base/wraps.hpp"

// Decimal digits to integers, eight at a time in one 64-bit register (SWAR).
namespace mcsim {

namespace digits_internal {

// Loads bytes in memory order, the first in the lowest bits.
inline std::uint64_t load_eight(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// The value of eight digits 0..9, one a byte, the first the most significant. Joins neighbours into
// pairs, pairs into fours, and fours into the result.
MCSIM_WRAPS inline std::uint64_t join_eight(std::uint64_t digits) {
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t kPairs = 0x000000ff000000ffULL;
  return ((digits & kPairs) * (100 + (1000000ULL << 32)) +
          ((digits >> 16) & kPairs) * (1 + (10000ULL << 32))) >>
         32;
}

inline constexpr std::array<std::uint64_t, 10> kPowersOfTen{
    1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

// Handles numbers that may overflow; returns false on overflow.
bool read_many_digits(const char*& at, std::uint64_t& value);

}  // namespace digits_internal

// Reads the digits at `at` and moves behind them. Returns false without digits or if they exceed 64
// bits. Reads up to seven bytes behind the last digit; these bytes must be readable and must not
// all be digits.
[[gnu::always_inline]] MCSIM_WRAPS inline bool read_digits(const char*& at, std::uint64_t& value) {
  using namespace digits_internal;
  const char* const begin = at;
  const char* p = at;
  std::uint64_t sum = 0;
  while (true) {
    const std::uint64_t digits = load_eight(p) ^ 0x3030303030303030ULL;
    // A byte above 9 carries into its top bit; only the first one counts.
    const std::uint64_t others =
        ((digits + 0x7676767676767676ULL) | digits) & 0x8080808080808080ULL;
    if (others == 0) {
      sum = sum * 100'000'000 + join_eight(digits);
      p += 8;
      if (p - begin > 16) break;
      continue;
    }
    const int count = std::countr_zero(others) / 8;
    if (count != 0) {
      const auto n = static_cast<std::size_t>(count);
      sum = sum * kPowersOfTen[n] + join_eight(digits << (8 * (8 - n)));
      p += n;
    }
    break;
  }
  constexpr std::ptrdiff_t kAlwaysFits = 19;
  if (p - begin > kAlwaysFits) [[unlikely]]
    return read_many_digits(at, value);
  at = p;
  value = sum;
  return p != begin;
}

}  // namespace mcsim
