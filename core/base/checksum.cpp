#include "core/base/checksum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/base/random.hpp"
#include "core/base/wraps.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kChains = 8;
constexpr std::size_t kBlock = kChains * sizeof(std::uint64_t);

using Chains = std::array<std::uint64_t, kChains>;

// Each step is invertible: for a given word the new state determines the old one, and for a given
// state it determines the word. The first multiplication does not spread a difference in the
// highest bits; without the second one, a bit of the next word could cancel it.
MCSIM_WRAPS void add_block(const std::byte* at, Chains& chains) {
  constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kSecond = 0xbf58476d1ce4e5b9ULL;
  constexpr int kTurn = 29;
  for (std::size_t i = 0; i < kChains; ++i) {
    std::uint64_t word;
    std::memcpy(&word, at + i * sizeof word, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    const std::uint64_t mixed = (chains[i] ^ word) * kFirst;
    chains[i] = std::rotl((mixed ^ mixed >> 32) * kSecond, kTurn);
  }
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  Chains chains;
  for (std::size_t i = 0; i < kChains; ++i) chains[i] = mix64(seed + i);
  const std::size_t whole = bytes.size() / kBlock * kBlock;
  for (std::size_t at = 0; at < whole; at += kBlock) add_block(bytes.data() + at, chains);
  std::array<std::byte, kBlock> rest{};
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end(), rest.begin());
  add_block(rest.data(), chains);
  std::uint64_t sum = bytes.size();
  for (const std::uint64_t chain : chains) sum = mix64(sum ^ chain);
  return sum;
}

}  // namespace mcsim
