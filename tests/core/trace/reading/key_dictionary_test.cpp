// Trusts: std::map.
#include "core/trace/reading/key_dictionary.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

TEST(KeyDictionary, NumbersKeysOfAnyLengthByFirstAppearance) {
  Random random(1);
  KeyDictionary keys;
  std::map<std::string, std::uint64_t> expected;
  for (int i = 0; i < 50'000; ++i) {
    std::string key;
    const std::uint64_t size = random.below(20);
    for (std::uint64_t k = 0; k < size; ++k) {
      key += "\0a\x0f\xff"[random.below(k + 1 == size || k == 0 ? 4 : 1)];
    }
    const std::uint64_t id = expected.emplace(key, expected.size()).first->second;
    const auto found = keys.find(key);
    ASSERT_EQ(found.has_value(), id < keys.size());
    ASSERT_EQ(keys.id_of(key), id);
    ASSERT_EQ(keys.find(key), id);
    ASSERT_EQ(keys.keys()[id], key);
  }
  EXPECT_EQ(keys.size(), expected.size());
  EXPECT_GT(keys.size(), 200U);
}

TEST(KeyDictionary, MentionsGetTheIdsOfTheirOrder) {
  KeyDictionary expected;
  KeyDictionary keys;
  for (const int mentions : {0, 1, 4'096, 20'000}) {
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < mentions; ++i) {
      const std::string key(static_cast<std::size_t>(i % 23), static_cast<char>('a' + i % 26));
      ids.push_back(expected.id_of(key));
      ASSERT_EQ(keys.mention(key), static_cast<std::uint64_t>(i));
    }
    EXPECT_EQ(keys.take_ids(), ids);
    EXPECT_EQ(keys.keys(), expected.keys());
  }
}

}  // namespace
}  // namespace mcsim
