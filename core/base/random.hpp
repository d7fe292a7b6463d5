#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/base/wraps.hpp"

namespace mcsim {

// A full 64-bit mix (the finaliser of splitmix64): every input bit affects every output bit, and
// distinct inputs have distinct outputs.
MCSIM_WRAPS constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The only generator of the project: xoshiro256** (Blackman and Vigna, 2018), the same stream on
// every platform. Components draw from `split(name)`, so that a new component does not change the
// numbers of the others.
class Random {
 public:
  using result_type = std::uint64_t;

  MCSIM_WRAPS explicit constexpr Random(std::uint64_t seed) {
    for (auto& word : state_) word = mix64(seed++);
  }

  // Continue from a state that is not all zero.
  static constexpr Random from_state(const std::array<std::uint64_t, 4>& state) {
    Random random(0);
    random.state_ = state;
    return random;
  }

  constexpr Random split(std::string_view name) const {
    std::uint64_t seed = state_[0];
    for (const char letter : name) seed = mix64(seed ^ static_cast<unsigned char>(letter));
    return Random(seed);
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  MCSIM_WRAPS constexpr result_type operator()() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>((*this)()) * bound) >> 64);
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace mcsim
