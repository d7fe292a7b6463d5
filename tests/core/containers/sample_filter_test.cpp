// Trusts: mix64 of each key compared with the limit, one by one; the binomial law.
#include "core/containers/sample_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/isas.hpp"
#include "tests/support/streams.hpp"

namespace mcsim {
namespace {

using streams::Keys;
using Ids = std::vector<std::uint32_t>;

// Keys that weak hashes sample unevenly.
std::vector<std::pair<const char*, Keys>> adversarial() {
  std::vector<std::pair<const char*, Keys>> all;
  const auto make = [&](const char* name, auto&& key_at) {
    Keys keys;
    for (std::uint64_t i = 0; i < 100'003; ++i) keys.push_back(key_at(i));
    all.emplace_back(name, std::move(keys));
  };
  make("sequential", [](std::uint64_t i) { return i; });
  make("equal low bits", [](std::uint64_t i) { return i << 40; });
  make("around 2^63", [](std::uint64_t i) { return (std::uint64_t{1} << 63) - 50'000 + i; });
  make("from the top", [](std::uint64_t i) { return ~i; });
  make("strided", [](std::uint64_t i) { return i * 4096; });
  return all;
}

TEST(SpatialFilter, EveryInstructionSetSelectsWhatTheDefinitionDoes) {
  for (const auto& [name, keys] : adversarial()) {
    for (const double rate : {1.0, 0.5, 0.03, 1e-4}) {
      for (const std::size_t count : {keys.size(), std::size_t{0}, std::size_t{63}, std::size_t{64},
                                      std::size_t{65}, std::size_t{200}}) {
        const SpatialFilter filter(rate, 7);
        const std::uint64_t salt = mix64(7);
        Keys expected;
        Ids ids;
        Ids expected_ids;
        for (std::size_t i = 0; i < count; ++i) {
          if (mix64(keys[i] ^ salt) <= filter.limit()) expected.push_back(keys[i]);
          ids.push_back(static_cast<std::uint32_t>(keys[i] >> 7));
          if (mix64(ids[i] ^ salt) <= filter.limit()) expected_ids.push_back(ids[i]);
        }
        for (const Isa isa : isas_here()) {
          SCOPED_TRACE(testing::Message() << name << ", " << rate << ", " << name_of(isa));
          Keys out(count);
          Ids out_ids(count);
          with_this_isa(isa, [&]<Isa kIsa>() {
            out.resize(select_sampled_keys<kIsa>(std::span(keys).first(count), salt, filter.limit(),
                                                 out.data()));
            out_ids.resize(select_sampled_ids<kIsa>(ids, salt, filter.limit(), out_ids.data()));
          });
          EXPECT_EQ(out, expected);
          EXPECT_EQ(out_ids, expected_ids);
        }
      }
    }
  }
}

TEST(SpatialFilter, SamplesItsRateOfAnyKeys) {
  for (const auto& [name, keys] : adversarial()) {
    for (const double rate : {0.3, 0.01, 0.001}) {
      Keys out(keys.size());
      const auto selected =
          static_cast<double>(SpatialFilter(rate, 3).select(std::span(keys), std::span(out)));
      const double expected = rate * static_cast<double>(keys.size());
      EXPECT_NEAR(selected, expected, 4 * std::sqrt(expected)) << name << ", " << rate;
    }
  }
}

TEST(SpatialFilter, ALowerRateSamplesASubset) {
  const SpatialFilter low(0.05, 5);
  const SpatialFilter high(0.06, 5);
  std::size_t both = 0;
  for (std::uint64_t key = 0; key < 100'000; ++key) {
    EXPECT_LE(low.samples(key), high.samples(key));
    both += low.samples(key) ? 1 : 0;
  }
  EXPECT_GT(both, 4000U);
}

TEST(SpatialFilter, SeedsGiveIndependentSamples) {
  const SpatialFilter a(0.1, 1);
  const SpatialFilter b(0.1, 2);
  int both = 0;
  for (std::uint64_t key = 0; key < 100'000; ++key) both += a.samples(key) && b.samples(key);
  EXPECT_NEAR(both, 1000, 4 * std::sqrt(1000));
}

TEST(SpatialFilter, StatesItsRate) {
  EXPECT_EQ(SpatialFilter(1, 1).rate(), 1);
  EXPECT_DOUBLE_EQ(SpatialFilter(0.001, 1).rate(), 0.001);
  EXPECT_NEAR(SpatialFilter(1e-9, 1).rate(), 1e-9, 1e-18);  // a multiple of 2^-64
}

TEST(SpatialFilter, Scaling) {
  EXPECT_EQ(unsampled_capacity(17, 1), 18);
  EXPECT_EQ(unsampled_capacity(0, 0.01), 50.5);  // d in [0, 100), d + 1 blocks
  EXPECT_EQ(miniature_capacity(100'000, 0.001), 100);
  EXPECT_EQ(miniature_capacity(10, 0.001), 1);
  EXPECT_EQ(miniature_capacity(12'345, 1), 12'345);
}

}  // namespace
}  // namespace mcsim
