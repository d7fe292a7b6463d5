// Trusts: values of lines by hand.
#include "core/trace/reading/json_columns.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace mcsim {
namespace {

using Ends = std::vector<std::int32_t>;
using Numbers = std::vector<std::uint64_t>;

const std::vector<JsonField> kFields{{"ids", JsonKind::kUnsigned, true},
                                     {"n", JsonKind::kSigned},
                                     {"at", JsonKind::kNumber},
                                     {"who", JsonKind::kText}};

std::string line_with(const std::string& ids, const std::string& n = "1",
                      const std::string& at = "1", const std::string& who = "\"a\"") {
  return R"({"ids": )" + ids + R"(, "n": )" + n + R"(, "at": )" + at + R"(, "who": )" + who + "}";
}

TEST(JsonColumns, HaveTheValuesOfAllLines) {
  const std::string text =
      line_with("[1, 18446744073709551615]", "-9223372036854775807", "0.1", "\"ann\"") + "\r\n \n" +
      "{\"who\":\"\",\t\"at\":-2 , \"x\": [1, {\"y\": \"z\"}, null, true], \"ids\":[] , \"n\":0}";
  const auto columns = read_flat_columns(text, kFields);
  ASSERT_TRUE(columns);
  EXPECT_EQ((*columns)[0].list_ends, (Ends{0, 2, 2}));
  EXPECT_EQ((*columns)[0].numbers, (Numbers{1, std::numeric_limits<std::uint64_t>::max()}));
  EXPECT_EQ((*columns)[1].numbers,
            (Numbers{static_cast<std::uint64_t>(-std::numeric_limits<std::int64_t>::max()), 0}));
  EXPECT_EQ((*columns)[2].numbers,
            (Numbers{std::bit_cast<std::uint64_t>(0.1), std::bit_cast<std::uint64_t>(-2.0)}));
  EXPECT_EQ((*columns)[3].text_ends, (Ends{0, 3, 3}));
  EXPECT_EQ((*columns)[3].text, "ann");
}

TEST(JsonColumns, ListsOfTextEndAtTexts) {
  const std::vector<JsonField> fields{{"ids", JsonKind::kText, true}};
  const auto columns = read_flat_columns(R"({"ids": ["a", "bc"]})", fields);
  ASSERT_TRUE(columns);
  EXPECT_EQ((*columns)[0].list_ends, (Ends{0, 2}));
  EXPECT_EQ((*columns)[0].text_ends, (Ends{0, 1, 3}));
  EXPECT_EQ((*columns)[0].text, "abc");
}

TEST(JsonColumns, NoTextHasEmptyColumns) {
  const auto columns = read_flat_columns("", kFields);
  ASSERT_TRUE(columns);
  EXPECT_EQ((*columns)[0].list_ends, Ends{0});
}

TEST(JsonColumns, OtherFormsAreLeftToAParser) {
  const std::string good = line_with("[1]");
  ASSERT_TRUE(read_flat_columns(good, kFields));
  const std::vector<std::string> others{
      good + good,
      good + " x",
      good.substr(0, good.size() - 1),
      "{",
      "{}",
      "[1]",
      "x",
      "\v",
      R"({"ids": [1], "n": 1, "at": 1})",
      good.substr(0, good.size() - 1) + R"(, "n": 1})",
      good.substr(0, good.size() - 1) + ",}",
      good.substr(0, good.size() - 1) + R"(, "x": })",
      good.substr(0, good.size() - 1) + R"(, "x": tru})",
      good.substr(0, good.size() - 1) + R"(, "x": 01})",
      good.substr(0, good.size() - 1) + R"(, "x": ")" + "a\t" + R"("})",
      good.substr(0, good.size() - 1) + R"(, "x": )" + std::string(20, '[') + std::string(20, ']') +
          "}",
      line_with("1"),
      line_with("[1,]"),
      line_with("[1 2]"),
      line_with("[1"),
      line_with("[01]"),
      line_with("[-1]"),
      line_with("[1.0]"),
      line_with("[1e3]"),
      line_with("[18446744073709551616]"),
      line_with("[\"1\"]"),
      line_with("[null]"),
      line_with("null"),
      line_with("[1]", "9223372036854775808"),
      line_with("[1]", "- 1"),
      line_with("[1]", "1.5"),
      line_with("[1]", "1", "1e3"),
      line_with("[1]", "1", "1."),
      line_with("[1]", "1", "NaN"),
      line_with("[1]", "1", "1" + std::string(400, '0')),
      line_with("[1]", "1", "1", "null"),
      line_with("[1]", "1", "1", R"("\u0061")"),
      line_with("[1]", "1", "1", "\"\xc3\xa4\""),
  };
  for (const std::string& other : others) {
    EXPECT_FALSE(read_flat_columns(good + "\n" + other, kFields)) << other;
  }
}

}  // namespace
}  // namespace mcsim
