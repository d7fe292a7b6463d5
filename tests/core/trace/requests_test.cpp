// Trusts: the rules of requests.hpp, broken one at a time in a row chosen at random;
// Unicode's table of well-formed UTF-8 (3-7) for names.
#include "core/trace/requests.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/base/random.hpp"

namespace mcsim {
namespace {

constexpr Nanoseconds kEarliest = std::numeric_limits<Nanoseconds>::min();
constexpr std::size_t kVms = 3;

Requests right_rows(std::size_t count) {
  Random random(1);
  Requests rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push(static_cast<Nanoseconds>(i / 3), static_cast<VmId>(random.below(kVms)),
              random.below(2) == 0 ? Op::kRead : Op::kWrite, random() >> 1, 4096,
              i % 2 == 0 ? -1 : 7);
  }
  return rows;
}

std::string complaint(const Requests& rows, std::size_t first_row = 0,
                      Nanoseconds after = kEarliest) {
  return message_of(check_requests(rows.view(), TraceKind::kBlocks, kVms, first_row, after));
}

TEST(CheckRequests, TakesClassesOfAllRequestsOrNone) {
  for (const std::size_t row : {0, 4095, 4096, 9'999}) {
    Requests rows = right_rows(10'000);
    rows.of_class.assign(rows.size(), 7);
    EXPECT_EQ(complaint(rows), "");
    const std::uint64_t sum = checksum_of(rows.view(), 0);
    EXPECT_NE(sum, checksum_of(right_rows(10'000).view(), 0));
    rows.of_class[row] = 3;
    EXPECT_NE(sum, checksum_of(rows.view(), 0));
    rows.of_class[row] = 8;
    EXPECT_EQ(complaint(rows), fmt::format("row {}: class: expected 0, which matters most, to 7, "
                                           "got 8",
                                           row));
  }
  Requests rows = right_rows(10);
  rows.of_class.assign(9, 0);
  EXPECT_EQ(complaint(rows), "columns of 10 and 9 rows");
}

TEST(CheckRequests, TakesWhatATraceMayHold) {
  EXPECT_EQ(complaint({}), "");
  for (const std::size_t count : {1, 4095, 4096, 4097, 20'000}) {
    EXPECT_EQ(complaint(right_rows(count)), "") << count;
  }
  Requests last;
  last.push(std::numeric_limits<Nanoseconds>::max(), kVms - 1, Op::kWrite,
            std::numeric_limits<std::uint64_t>::max() - 5, 5);
  EXPECT_EQ(complaint(last), "");
}

TEST(CheckRequests, NamesTheRowThatIsWrong) {
  const Requests right = right_rows(10'000);
  for (const std::size_t at : {0, 1, 4095, 4096, 9'999}) {
    const auto broken = [&](auto&& breakage) {
      Requests rows = right;
      breakage(rows);
      return complaint(rows, 1'000'000, 0);
    };
    const std::string row = "row " + std::to_string(1'000'000 + at) + ": ";
    EXPECT_EQ(broken([&](Requests& r) { r.vm[at] = kVms; }),
              row + "vm 3 is not a position among 3 names");
    EXPECT_EQ(broken([&](Requests& r) { r.op[at] = 200; }),
              row + "op: expected 0 (read), 1 (write) or 2 (discard), got 200");
    EXPECT_EQ(broken([&](Requests& r) { r.offset[at] = ~std::uint64_t{0}; }),
              row + "offset 18446744073709551615 + length 4096 exceeds 64 bits");
    EXPECT_EQ(broken([&](Requests& r) { r.response[at] = -2; }),
              row + "response: expected nanoseconds, or -1 for unknown, got -2");
    EXPECT_EQ(
        broken([&](Requests& r) { r.time[at] = -1; }),
        row + "time goes back from " + std::to_string(at == 0 ? 0 : right.time[at - 1]) + " to -1");
  }
}

TEST(CheckRequests, ColumnsAreEquallyLong) {
  Requests rows = right_rows(5);
  rows.offset.pop_back();
  EXPECT_EQ(complaint(rows), "columns of 5 and 4 rows");
}

TEST(ChecksumOfRequests, ChangesWithAnyBitAndWithThePlace) {
  const Requests right = right_rows(100);
  std::set<std::uint64_t> sums{checksum_of(right.view(), 0)};
  EXPECT_EQ(checksum_of(right.view(), 0), *sums.begin());
  std::size_t changes = 1;
  const auto change = [&](auto Requests::* column) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      Requests rows = right;
      auto& value = (rows.*column)[i];
      value = static_cast<std::remove_reference_t<decltype(value)>>(value ^ 1);
      sums.insert(checksum_of(rows.view(), 0));
      ++changes;
    }
  };
  change(&Requests::time);
  change(&Requests::vm);
  change(&Requests::op);
  change(&Requests::offset);
  change(&Requests::length);
  change(&Requests::response);
  sums.insert(checksum_of(right.view(), 100));
  EXPECT_EQ(sums.size(), changes + 1);
}

TEST(VmNames, AreTextThatCanBeShown) {
  for (const char* name : {"web_0", "a b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\xa7",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_vm_name(name)) << name;
  }
  const std::string_view nul("a\0b", 3);
  for (const std::string_view name :
       {std::string_view(), nul, std::string_view("a\n"), std::string_view("\x7f"),
        std::string_view("\x1b[31m"), std::string_view("\xe9"), std::string_view("\xc3"),
        std::string_view("\xc0\x80"), std::string_view("\xe0\x80\x80"),
        std::string_view("\xed\xa0\x80"), std::string_view("\xf0\x80\x80\x80"),
        std::string_view("\xf4\x90\x80\x80"), std::string_view("\xe2\x82"),
        std::string_view("\x80")}) {
    EXPECT_FALSE(is_vm_name(name)) << name;
  }
}

}  // namespace
}  // namespace mcsim
