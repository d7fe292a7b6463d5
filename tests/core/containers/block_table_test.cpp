// Trusts: std::unordered_map; the bijections' inverses by trying.
#include "core/containers/block_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>

#include "core/base/random.hpp"
#include "tests/support/isas.hpp"

namespace mcsim {
namespace {

using Keys = std::vector<std::uint64_t>;

template <class Key>
Keys keys_from(std::size_t count, Key&& key) {
  Keys keys;
  for (std::uint64_t i = 0; i < count; ++i) keys.push_back(key(i));
  return keys;
}

// Inverts mix_narrow: keys with one common home line.
std::uint64_t crowding(std::uint64_t i) { return BlockTable::unmix_narrow(i); }

struct NamedKeys {
  std::string name;
  Keys keys;
};

// Streams that hash tables are known to dislike, each key twice or more.
std::vector<NamedKeys> hard_streams() {
  constexpr std::size_t kMany = 120'000;
  std::vector<NamedKeys> streams{
      {"nothing", {}},
      {"zero", {0, 0, 0}},
      {"sequential", keys_from(kMany, [](std::uint64_t i) { return i; })},
      {"equal low bits", keys_from(kMany, [](std::uint64_t i) { return i << 20; })},
      {"equal low halves", keys_from(kMany, [](std::uint64_t i) { return i << 32; })},
      {"around 2^41", keys_from(3000, [](std::uint64_t i) { return (1ULL << 41) - 1500 + i; })},
      {"around 2^63", keys_from(kMany, [](std::uint64_t i) { return (1ULL << 63) - 60'000 + i; })},
      {"up to 2^64", keys_from(kMany, [](std::uint64_t i) { return ~i; })},
      {"strides of a page", keys_from(kMany, [](std::uint64_t i) { return i * 4096; })},
      {"one home", keys_from(20'000, crowding)},
      {"random", keys_from(kMany, [](std::uint64_t i) { return mix64(i); })},
      {"late wide key", keys_from(50'000, [](std::uint64_t i) { return i == 40'000 ? ~0ULL : i; })},
      {"early wide key", keys_from(2000, [](std::uint64_t i) { return i == 100 ? ~0ULL : i; })},
      {"wide key at the first growth",
       keys_from(2000, [](std::uint64_t i) { return i == 900 ? ~0ULL : i; })},
      {"one home and few keys", keys_from(1000, crowding)},
  };
  Random random(7);
  for (auto& [name, keys] : streams) {
    const std::size_t unique = keys.size();
    for (std::size_t i = 0; i < unique; ++i) keys.push_back(keys[random.below(unique)]);
  }
  return streams;
}

TEST(BlockTable, MixesAreBijections) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t key = random() >> (64 - BlockTable::kNarrowBits);
    ASSERT_EQ(BlockTable::unmix_narrow(BlockTable::mix_narrow(key)), key);
    ASSERT_EQ(BlockTable::mix_narrow(BlockTable::unmix_narrow(key)), key);
  }
}

TEST(BlockTable, ExchangesLikeAMap) {
  for (const Isa which : isas_here()) {
    for (const auto& [name, keys] : hard_streams()) {
      SCOPED_TRACE(std::string(name_of(which)) + ", " + name);
      BlockTable table;
      std::unordered_map<std::uint64_t, std::uint32_t> map;
      Random random(3);
      for (std::size_t begin = 0; begin < keys.size();) {
        const std::size_t size = std::min<std::size_t>(1 + random.below(2000), keys.size() - begin);
        const auto piece = std::span(keys).subspan(begin, size);
        // Increasing values with gaps.
        const auto first = static_cast<std::uint32_t>(3 * begin + 1);
        std::vector<std::uint32_t> values(size);
        for (std::size_t i = 0; i < size; ++i)
          values[i] = first + static_cast<std::uint32_t>(3 * i);
        std::vector<std::uint32_t> previous(3 * size);
        with_this_isa(which, [&]<Isa kIsa>() {
          exchange_keys<kIsa>(table, piece, values, first, previous.data());
        });
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(previous[3 * i], map[piece[i]]) << "key " << piece[i] << " at " << begin + i;
          map[piece[i]] = values[i];
        }
        begin += size;
      }
      EXPECT_EQ(table.size(), map.size());
    }
  }
}

TEST(BlockTable, NumbersKeysAsTheyAppear) {
  for (const Isa which : isas_here()) {
    for (const auto& [name, keys] : hard_streams()) {
      SCOPED_TRACE(std::string(name_of(which)) + ", " + name);
      BlockTable table;
      std::vector<std::uint32_t> numbers(keys.size());
      with_this_isa(which, [&]<Isa kIsa>() { number_keys<kIsa>(table, keys, numbers); });
      std::unordered_map<std::uint64_t, std::uint32_t> map;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto number = map.try_emplace(keys[i], static_cast<std::uint32_t>(map.size()));
        ASSERT_EQ(numbers[i], number.first->second);
      }

      Keys asked = keys;
      for (std::uint64_t i = 0; i < 1000; ++i) asked.push_back(mix64(~i));
      std::vector<std::uint32_t> found(asked.size());
      with_this_isa(which, [&]<Isa kIsa>() { find_keys<kIsa>(table, asked, found); });
      for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto entry = map.find(asked[i]);
        ASSERT_EQ(found[i], entry == map.end() ? 0 : entry->second + 1);
      }
    }
  }
}

TEST(BlockTable, HoldsAKeyInFewBytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  BlockTable table;
  std::vector<std::uint32_t> numbers(100'000);
  for (std::uint64_t begin = 0; begin < 3'000'000; begin += numbers.size()) {
    Keys keys(numbers.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = begin + i;
    table.number(keys, numbers);
    if (begin >= 1'000'000) {
      EXPECT_LE(table.bytes(), 22 * table.size() + kHugePage);
    }
  }
}

TEST(BlockTable, StoresFewKeysInFourPages) {
  for (const Isa which : isas_here()) {
    BlockTable table;
    const Keys keys = keys_from(897, [](std::uint64_t i) { return i * 4096; });
    std::vector<std::uint32_t> numbers(keys.size());
    for (std::size_t i = 0; i < 896; ++i) {
      with_this_isa(which, [&]<Isa kIsa>() {
        number_keys<kIsa>(table, std::span(keys).subspan(i, 1), std::span(numbers).subspan(i, 1));
      });
    }
    EXPECT_EQ(table.bytes(), 4 * 4096);
    table.number(std::span(keys).last(1), std::span(numbers).last(1));
    EXPECT_GT(table.bytes(), std::size_t{1} << 20);
    EXPECT_FALSE(table.is_wide());
  }
}

TEST(BlockTable, IsAsNewWhenCleared) {
  const Keys few{3, 1, 4, 1, 5};
  for (const auto& [name, keys] : hard_streams()) {
    SCOPED_TRACE(name);
    BlockTable table;
    std::vector<std::uint32_t> numbers(keys.size());
    table.number(keys, numbers);
    table.clear();
    EXPECT_EQ(table.size(), 0);
    EXPECT_LE(table.bytes(), (std::size_t{1} << 20) + 4096);
    std::vector<std::uint32_t> anew(few.size());
    table.number(few, anew);
    EXPECT_EQ(anew, (std::vector<std::uint32_t>{0, 1, 2, 1, 3}));
  }
}

TEST(BlockTable, KeepsAMegabyteForAsManyKeys) {
  BlockTable table;
  const Keys keys = keys_from(1000, [](std::uint64_t i) { return i; });
  std::vector<std::uint32_t> numbers(keys.size());
  table.number(keys, numbers);
  const std::size_t used = table.bytes();
  table.clear();
  EXPECT_EQ(table.bytes(), used);
  table.number(std::span(keys).first(3), numbers);
  table.clear();
  EXPECT_EQ(table.bytes(), BlockTable().bytes());
}

}  // namespace
}  // namespace mcsim
