// Trusts: that different bytes must have different sums, over every change of one bit,
// every stretch of zeroes and every length of a random text; and a sum that a few lines of
// Python found by the same definition, for stored files hold such sums.
#include "core/base/checksum.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size) {
  Random random(1);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 56);
  return bytes;
}

TEST(Checksum, EveryBitEveryLengthAndTheSeedCount) {
  const Bytes whole = random_bytes(300);
  std::set<std::uint64_t> sums;
  std::size_t texts = 0;
  const auto sum = [&](const Bytes& bytes, std::uint64_t seed = 0) {
    sums.insert(checksum(bytes, seed));
    ++texts;
  };
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes flipped = whole;
    flipped[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    sum(flipped);
  }
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    sum(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  for (std::size_t size = 1; size <= whole.size(); ++size) sum(Bytes(size));
  for (std::uint64_t seed = 1; seed < 50; ++seed) sum(whole, seed);
  EXPECT_EQ(sums.size(), texts);
}

TEST(Checksum, AZeroedPageIsNoticedWhereverItLies) {
  Bytes whole = random_bytes(100'000);
  const std::uint64_t sum = checksum(whole, 7);
  for (std::size_t at = 0; at + 4096 <= whole.size(); at += 1111) {
    Bytes zeroed = whole;
    std::fill_n(zeroed.begin() + static_cast<std::ptrdiff_t>(at), 4096, std::byte{0});
    EXPECT_NE(checksum(zeroed, 7), sum) << at;
  }
}

TEST(Checksum, StaysWhatItIs) {
  Bytes bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(37 * i);
  EXPECT_EQ(checksum(bytes, 3), 0x329eb9bb17ae9db3U);
}

}  // namespace
}  // namespace mcsim
