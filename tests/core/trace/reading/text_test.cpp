// Trusts: std::to_string and strtoull for digits; for the rest the prose of
// core/trace/reading/text.hpp, stated here as lines and messages.
#include "core/trace/reading/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/random.hpp"
#include "tests/support/compress.hpp"

namespace mcsim {
namespace {

// A line with room behind it, as a LineReader hands it out.
class PaddedLine {
 public:
  explicit PaddedLine(const std::string& text) : text_(text + "\n") {
    size_ = text.size();
    text_.append(LineReader::kPadding, '\0');
  }
  std::string_view view() const { return std::string_view(text_).substr(0, size_); }

 private:
  std::string text_;
  std::size_t size_;
};

std::vector<std::string> lines_of(const std::string& text, absl::Status* status = nullptr) {
  const auto source = *open_bytes(text, "t");
  LineReader reader(source.get(), "t");
  std::vector<std::string> lines;
  while (reader.next()) {
    lines.emplace_back(reader.line());
    EXPECT_EQ(reader.number(), static_cast<Count>(lines.size()));
  }
  if (status != nullptr) *status = reader.status();
  return lines;
}

TEST(Lines, EndInNewlinesWhichTheLastMayLack) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a"), Lines{"a"});
  EXPECT_EQ(lines_of("a\nb\n"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("a\r\nb\r\n\r\nc\r"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("\n\na"), (Lines{"", "", "a"}));
}

TEST(Lines, BeginBehindAByteOrderMark) {
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "a\n\xef\xbb\xbf"
                     "b"),
            (std::vector<std::string>{"a",
                                      "\xef\xbb\xbf"
                                      "b"}));
  EXPECT_EQ(lines_of("\xef\xbb\xbf"), std::vector<std::string>{});
}

TEST(Lines, MayLieAcrossBuffers) {
  std::string text;
  std::vector<std::string> expected;
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    expected.push_back(std::string(random.below(100), static_cast<char>('a' + i % 26)));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(lines_of(text), expected);
}

TEST(Lines, OfNoEndAreRefused) {
  absl::Status status;
  std::string text = "a\n";
  text.append(400'000, 'x');
  const auto lines = lines_of(text, &status);
  EXPECT_EQ(lines, std::vector<std::string>{"a"});
  EXPECT_EQ(message_of(status), "t:2: longer than 65536 bytes: not a text trace");
}

// One limit, whatever the lines before it: on both sides of the buffer's end, of every carrier.
TEST(Lines, HaveOneLimit) {
  const std::string longest(LineReader::kLongestLine, 'x');
  for (const std::size_t before : {0UL, 1UL, 100UL, 196'605UL, 196'608UL, 262'140UL, 262'143UL}) {
    for (const char* end : {"\n", "\r\n", ""}) {
      const std::string head = before == 0 ? "" : std::string(before % 60'000, 'a') + "\n";
      std::string text = head;
      while (text.size() < before) text += "b\n";
      const std::size_t lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
      for (const Codec codec : {Codec::kNone, Codec::kGzip, Codec::kZstd}) {
        const auto packed = [&](const std::string& bytes) {
          return codec == Codec::kNone ? bytes : compress(codec, bytes);
        };
        absl::Status status;
        EXPECT_EQ(lines_of(packed(text + longest + end), &status).size(), lines + 1);
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(lines_of(packed(text + longest + "x" + end), &status).size(), lines);
        EXPECT_EQ(message_of(status),
                  fmt::format("t:{}: longer than 65536 bytes: not a text trace", lines + 1));
      }
    }
  }
}

TEST(Lines, EndWhereDecompressionFails) {
  absl::Status status;
  lines_of(std::string("\x1f\x8b garbage that no gzip ever wrote"), &status);
  EXPECT_EQ(message_of(status),
            "t: the gzip data is damaged or cut short, before byte 9 of the file and behind byte "
            "0 of its content");
}

TEST(Digits, AgreeWithStrtoull) {
  Random random(2);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t number = random() >> random.below(64);
    const std::string zeros(random.below(4), '0');
    const std::string after = i % 2 == 0 ? "," : "\xff\x80,1";
    const PaddedLine line(zeros + std::to_string(number) + after);
    const char* at = line.view().data();
    std::uint64_t value = 0;
    ASSERT_TRUE(read_digits(at, value)) << line.view();
    ASSERT_EQ(value, std::strtoull(line.view().data(), nullptr, 10));
    ASSERT_EQ(static_cast<std::size_t>(at - line.view().data()), line.view().size() - after.size());
  }
}

TEST(Digits, EveryLengthUpToTheLargest) {
  const auto read = [](const std::string& digits) -> std::optional<std::uint64_t> {
    const PaddedLine line(digits);
    const char* at = line.view().data();
    std::uint64_t value = 0;
    if (!read_digits(at, value)) return std::nullopt;
    return value;
  };
  std::uint64_t expected = 0;
  std::string digits;
  for (int i = 1; i <= 19; ++i) {
    expected = expected * 10 + static_cast<std::uint64_t>(i % 10);
    digits += static_cast<char>('0' + i % 10);
    EXPECT_EQ(read(digits), expected);
  }
  EXPECT_EQ(read("18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(read("0000000000000000000000000018446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(read("18446744073709551616"), std::nullopt);
  EXPECT_EQ(read("99999999999999999999999999999999"), std::nullopt);
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("/"), std::nullopt);
  EXPECT_EQ(read(":"), std::nullopt);
}

TEST(Fields, AreTakenFromLeftToRight) {
  const PaddedLine line("12,Read,,\"a,b\",-3");
  FieldScanner scan(line.view(), ',');
  EXPECT_EQ(scan.number("a"), 12U);
  EXPECT_EQ(scan.text("b"), "Read");
  EXPECT_EQ(scan.text("c"), "");
  EXPECT_EQ(scan.text("d"), "a,b");
  EXPECT_EQ(scan.time("e", 1), -3);
  EXPECT_TRUE(scan.finish());
}

TEST(Fields, MayLieBetweenRunsOfBlanks) {
  const PaddedLine line("  12\t \t7   x ");
  FieldScanner scan(line.view(), ' ');
  EXPECT_EQ(scan.number("a"), 12U);
  EXPECT_EQ(scan.number("b"), 7U);
  EXPECT_EQ(scan.text("c"), "x");
  EXPECT_TRUE(scan.finish());
}

template <class Take>
std::string complaint(const std::string& text, Take take) {
  const PaddedLine line(text);
  FieldScanner scan(line.view(), ',');
  take(scan);
  return scan.finish() ? "none" : scan.take_complaint();
}

TEST(Fields, ComplaintsSayColumnAndWhatWouldBeRight) {
  const auto two = [](FieldScanner& scan) {
    scan.number("an offset");
    scan.number("a size", 0, 100);
  };
  EXPECT_EQ(complaint("1,2", two), "none");
  EXPECT_EQ(complaint("\"1\",\"2\"", two), "none");
  EXPECT_EQ(complaint("x,2", two), "expected an offset (a whole number) in column 1, got 'x'");
  EXPECT_EQ(complaint("-1,2", two), "expected an offset (a whole number) in column 1, got '-1'");
  EXPECT_EQ(complaint("1x,2", two), "expected an offset (a whole number) in column 1, got '1x'");
  EXPECT_EQ(complaint(",2", two), "expected an offset (a whole number) in column 1, got ''");
  EXPECT_EQ(complaint("18446744073709551616,2", two),
            "expected an offset (a whole number) in column 1, got '18446744073709551616'");
  EXPECT_EQ(complaint("1,101", two),
            "expected a size (a whole number from 0 to 100) in column 2, got '101'");
  EXPECT_EQ(complaint("1", two), "expected a size in column 2, but the line has 1 column");
  EXPECT_EQ(complaint("1,2,3,4", two), "expected 2 columns, got 4");
  EXPECT_EQ(complaint("1,", two),
            "expected a size (a whole number from 0 to 100) in column 2, got ''");
  EXPECT_EQ(complaint("\"1,2", two),
            "column 1: the quote that begins '\"1,2' does not end with the column");
}

TEST(Fields, OnlyTheFirstComplaintIsKept) {
  EXPECT_EQ(complaint("x,y",
                      [](FieldScanner& scan) {
                        scan.number("a");
                        scan.number("b");
                      }),
            "expected a (a whole number) in column 1, got 'x'");
}

TEST(Fields, WhatIsShownIsShortAndPrintable) {
  EXPECT_EQ(quoted_for_message("a\x01\xff"), "a\\x01\\xff");
  EXPECT_EQ(quoted_for_message("0123456789012345678901234567890123456789"),
            "0123456789012345678901234567890123456789");
  EXPECT_EQ(quoted_for_message("0123456789012345678901234567890123456789x"),
            "0123456789012345678901234567890123456789...");
}

TEST(Times, AreDecimalAndExact) {
  const auto time_of = [](const std::string& text, Nanoseconds unit) {
    const PaddedLine line(text);
    FieldScanner scan(line.view(), ',');
    const Nanoseconds time = scan.time("a time", unit);
    return scan.finish() ? time : -999;
  };
  EXPECT_EQ(time_of("12", 1), 12);
  EXPECT_EQ(time_of("7961.833", 1'000'000), 7'961'833'000);
  EXPECT_EQ(time_of("0.000000001", kSecond), 1);
  EXPECT_EQ(time_of("0.1234567899", kSecond), 123'456'789);
  EXPECT_EQ(time_of("1.", kSecond), kSecond);
  EXPECT_EQ(time_of("-1.5", kSecond), -1'500'000'000);
  EXPECT_EQ(time_of("9223372036", kSecond), 9'223'372'036 * kSecond);
  EXPECT_EQ(time_of("9223372037", kSecond), -999);
  EXPECT_EQ(time_of("9223372036854775806", 1), 9'223'372'036'854'775'806);
  for (const char* bad : {"", "-", ".5", "1.5.2", "1,5", "nan", "--1", "1.x"}) {
    EXPECT_EQ(time_of(bad, kSecond), -999) << bad;
  }
  // Floats with exponents.
  EXPECT_EQ(time_of("2.8E-4", kSecond), 280'000);
  EXPECT_EQ(time_of("1.5e+09", kSecond), 1'500'000'000 * kSecond);
  EXPECT_EQ(time_of("-12.5e-1", kSecond), -1'250'000'000);
  EXPECT_EQ(time_of("1234567890123456789e0", 1), 1'234'567'890'123'456'789);
  EXPECT_EQ(time_of("0e30", kSecond), 0);
  for (const char* bad :
       {"e3", "1e", "1e+", "1e+-3", "1e3.5", ".5e1", "1.5.2e1", "1e11", "1e400"}) {
    EXPECT_EQ(time_of(bad, kSecond), -999) << bad;
  }
}

}  // namespace
}  // namespace mcsim
