// Trusts: the layouts that libCacheSim's readers and VMware's vscsiStats have, written here field
// by field; the counts of tests/data/cases, which were computed independently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/case_files.hpp"
#include "tests/support/read_trace.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)

// The ids of most cases, computed by hand: 6 references to 3 keys.
void expect_case_keys(const std::string& format, const std::string& file) {
  const TraceRead got = read_good_trace(format, case_bytes(file));
  EXPECT_THAT(got.requests.offset, ElementsAre(5, 7, 5, 9, 7, 5)) << file;
  EXPECT_EQ(got.kind, TraceKind::kObjects) << file;
  EXPECT_FALSE(got.has_text_keys) << file;
}

TEST(BinaryFormats, CasesHaveTheirKeys) {
  expect_case_keys("lcs", "v1.lcs");
  expect_case_keys("twr", "keys.twr");
  expect_case_keys("valpin", "keys.valpin");
  expect_case_keys("oracle-general", "oracle.oracleGeneral.bin");
  for (const char* file : {"v1.vscsi", "v2.vscsi"}) {
    const TraceRead got = read_good_trace("vscsi", case_bytes(file));
    EXPECT_THAT(got.requests.offset,
                ElementsAre(5 * 4096, 7 * 4096, 5 * 4096, 9 * 4096, 7 * 4096, 5 * 4096));
    EXPECT_EQ(got.kind, TraceKind::kBlocks);
  }
}

TEST(BinaryFormats, SmallAndLargeIdsOfOneTraceStayDifferent) {
  constexpr std::uint64_t kLargeId = 0x8000'0000'0000'0005;
  const TraceRead binary = read_good_trace("oracle-general", case_bytes("mixed.oracleGeneral.bin"));
  EXPECT_THAT(binary.requests.offset, ElementsAre(5, 7, 5, 9, 7, kLargeId));
  const TraceRead text = read_good_trace("keys", case_bytes("mixed_ids.txt"));
  EXPECT_THAT(text.requests.offset, ElementsAre(5, 7, 5, 9, 7, 18446744073709551000ULL));
  EXPECT_FALSE(text.has_text_keys);
}

TEST(BinaryFormats, NegativeIdsAreKeysToo) {
  const TraceRead got = read_good_trace("keys-u64-be", case_bytes("keys_be64.trace"));
  const auto minus_five = static_cast<std::uint64_t>(-5);
  EXPECT_THAT(got.requests.offset, ElementsAre(minus_five, 7, minus_five, 9, 7, minus_five));
  EXPECT_THAT(got.requests.time, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(got.time_base, TimeBase::kIndex);
  EXPECT_FALSE(got.has_lengths);
}

TEST(BinaryFormats, CasesAreRecognised) {
  const auto recognised = [](const char* file) { return detected_format(case_bytes(file)); };
  EXPECT_EQ(recognised("v1.vscsi"), "vscsi");
  EXPECT_EQ(recognised("v2.vscsi"), "vscsi");
  EXPECT_EQ(recognised("v1.lcs"), "lcs");
  EXPECT_EQ(recognised("keys.twr"), "twr");
  EXPECT_EQ(recognised("keys.valpin"), "keys-u64-le");
  EXPECT_EQ(recognised("keys_be64.trace"), "keys-u64-be");
  EXPECT_EQ(recognised("oracle.oracleGeneral.bin"), "oracle-general");
  EXPECT_EQ(recognised("mixed.oracleGeneral.bin"), "oracle-general");
  EXPECT_EQ(recognised("mixed_ids.txt"), "keys");
}

TEST(OracleGeneral, TwentyFourBytesMakeARequest) {
  const std::string bytes = oracle_record(3, 7, 9000, 2) + oracle_record(3, 1ULL << 40, 1, -1);
  const TraceRead got = read_good_trace("oracle-general", bytes);
  EXPECT_THAT(got.requests.time, ElementsAre(3 * kSecond, 3 * kSecond));
  EXPECT_THAT(got.requests.offset, ElementsAre(7, 1ULL << 40));
  EXPECT_THAT(got.requests.length, ElementsAre(9000, 1));
  EXPECT_EQ(got.time_base, TimeBase::kClock);
  const TraceRead blocks =
      read_good_trace("oracle-general", bytes, {{"unit_bytes", std::int64_t{512}}});
  EXPECT_THAT(blocks.requests.offset, ElementsAre(7 * 512, 1ULL << 49));
  EXPECT_THAT(blocks.requests.length, ElementsAre(9000, 1));
  EXPECT_EQ(blocks.kind, TraceKind::kBlocks);
}

TEST(OracleGeneral, RecordsThatContradictItAreNamed) {
  const std::string one = oracle_record(3, 7, 9000, 4);
  const auto second = [&](const std::string& record, const ParamMap& params = {}) {
    return complaint_about("oracle-general", one + record, params);
  };
  EXPECT_EQ(complaint_about("oracle-general", one + one + one.substr(0, 11)),
            "web.csv: record 3: 11 of 24 bytes: the file is cut short");
  EXPECT_EQ(second(oracle_record(3, 7, 1, 1)),
            "web.csv: record 2: next access: expected the number of a later request or -1, got 1");
  EXPECT_EQ(second(oracle_record(1, 1, 1, -1)),
            "web.csv: record 2: time goes back from 3000000000 to 1000000000 (on_unsorted: sort "
            "puts requests in order)");
  EXPECT_EQ(second(oracle_record(3, 1ULL << 52, 1, -1), {{"unit_bytes", std::int64_t{4096}}}),
            "web.csv: record 2: object id: block 4503599627370496 exceeds 64 bits");
}

TEST(OracleGeneral, ObjectsWithoutASizeAreFilteredAsInLibCacheSim) {
  const TraceRead got =
      read_good_trace("oracle-general", oracle_record(3, 7, 0, 2) + oracle_record(3, 8, 1, -1));
  EXPECT_THAT(got.requests.offset, ElementsAre(8));
  EXPECT_EQ(got.rows.filtered, 1);
}

TEST(Vscsi, CommandsAreReadsWritesAndFlushes) {
  for (const std::uint64_t version : {1, 2}) {
    std::string bytes;
    for (const std::uint64_t command : {0x08, 0x28, 0xa8, 0x88, 0x0a, 0x2a, 0xaa, 0x8a, 0x42, 0x41,
                                        0x93, 0x35, 0x91, 0x12, 0xc0, 0xff}) {
      bytes += vscsi_record(
          {.command = command, .bytes = 1024, .sector = 3, .time = 9, .version = version});
    }
    const TraceRead got = read_good_trace("vscsi", bytes);
    EXPECT_THAT(got.requests.op, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 1, 1));
    EXPECT_EQ(got.rows.flushes, 2);
    EXPECT_EQ(got.rows.filtered, 3);  // INQUIRY, and two commands of vendors
    EXPECT_EQ(got.requests.offset[0], 3 * 512U);
    EXPECT_EQ(got.requests.length[0], 1024U);
    EXPECT_EQ(got.requests.time[0], 9'000);
  }
}

// Each command of vscsi has the same effect as its code in the text of cloudphysics.
TEST(Vscsi, CommandsAreThoseOfCloudPhysics) {
  for (std::uint64_t command = 0; command < 256; ++command) {
    const TraceRead binary = read_trace("vscsi", vscsi_record({.command = command, .time = 9}));
    const TraceRead text = read_trace("cloudphysics", fmt::format("1,9,{:x},4096,0\n", command));
    EXPECT_EQ(binary.requests.op, text.requests.op) << command;
    EXPECT_EQ(binary.requests.length, text.requests.length) << command;
    EXPECT_EQ(binary.rows.flushes, text.rows.flushes) << command;
    EXPECT_EQ(binary.rows.filtered, text.rows.filtered) << command;
  }
}

// An UNMAP has a list of blocks, not whole sectors.
TEST(Vscsi, UnmapsHaveAnyNumberOfBytes) {
  const TraceRead got = read_good_trace("vscsi", vscsi_record({.command = 0x42, .bytes = 24}) +
                                                     vscsi_record({.command = 0x28, .time = 1}));
  EXPECT_THAT(got.requests.op, ElementsAre(2, 0));
  EXPECT_THAT(got.requests.length, ElementsAre(24, 4096));
}

// libCacheSim replays records whose operation is NOP (0) or INVALID (255).
TEST(Operations, RecordsThatStateNoneAreReads) {
  for (const std::uint32_t op : {0U, 255U}) {
    const std::string lcs = lcs_header(2, 1) + lcs_record(2, {.time = 1, .op = op});
    EXPECT_THAT(read_good_trace("lcs", lcs).requests.op, ElementsAre(0));
    EXPECT_THAT(read_good_trace("twr", twr_record(1, 5, 10, 200, op)).requests.op, ElementsAre(0));
    EXPECT_THAT(read_good_trace("twr-ns", twr_ns_record(1, 5, 10, 200, op)).requests.op,
                ElementsAre(0));
    for (const char* format : {"standard-iqibh", "oracle-general-op-ns", "oracle-sys-twr-ns"}) {
      const std::string record = libcachesim_record(format, {.time = 1, .id = 7, .op = op});
      EXPECT_THAT(read_good_trace(format, record).requests.op, ElementsAre(0)) << format;
    }
  }
}

TEST(Lcs, EveryVersionHasItsLayout) {
  for (std::uint64_t version = 1; version <= 8; ++version) {
    const std::string bytes = lcs_header(version, 2) +
                              lcs_record(version, {.time = 4, .id = 5, .size = 6, .next = 2}) +
                              lcs_record(version, {.time = 7, .id = 8, .size = 9, .op = 9});
    const TraceRead got = read_good_trace("lcs", bytes);
    EXPECT_THAT(got.requests.time, ElementsAre(4 * kSecond, 7 * kSecond)) << version;
    EXPECT_THAT(got.requests.offset, ElementsAre(5, 8)) << version;
    EXPECT_THAT(got.requests.length, ElementsAre(6, 9)) << version;
    EXPECT_THAT(got.requests.op, ElementsAre(0, version == 1 ? 0 : 2)) << version;
    EXPECT_EQ(detected_format(bytes), "lcs") << version;
  }
}

TEST(Lcs, HeadersDescribeFields) {
  const std::string record = TraceBytes().add(200, 1).add(77, 2).add(9, 4).add(1, 8).bytes();
  const TraceRead got =
      read_good_trace("lcs", lcs_described_header("<BHIQ", "314000", 15, 1) + record);
  EXPECT_THAT(got.requests.offset, ElementsAre(9));
  EXPECT_THAT(got.requests.length, ElementsAre(200));
  EXPECT_THAT(got.requests.time, ElementsAre(kSecond));
}

TEST(Twr, TwentyBytesMakeARequest) {
  const TraceRead got = read_good_trace(
      "twr", twr_record(1, 5, 10, 200, 1) + twr_record(2, 5, 10, 0, 1) +
                 twr_record(2, 1ULL << 63, 1, (1 << 22) - 1, 3) + twr_record(3, 5, 10, 0, 9));
  EXPECT_THAT(got.requests.time, ElementsAre(kSecond, 2 * kSecond, 3 * kSecond));
  EXPECT_THAT(got.requests.offset, ElementsAre(5, 1ULL << 63, 5));
  EXPECT_THAT(got.requests.length, ElementsAre(210, 1 << 22, 10));
  EXPECT_THAT(got.requests.op, ElementsAre(0, 1, 2));
  EXPECT_EQ(got.rows.filtered, 1);  // a read of nothing
}

TEST(KeyIntegers, EveryWidthAndOrderIsReadAndRecognised) {
  const std::vector<std::uint64_t> keys{0x0102'03, 7, 0x0102'03, 0xffff, 513, 7, 0x0102'03};
  for (const unsigned bytes : {4U, 8U}) {
    for (const bool is_big : {false, true}) {
      TraceBytes file;
      for (const std::uint64_t key : keys) {
        is_big ? file.add_big(key, bytes) : file.add(key, bytes);
      }
      const std::string format = fmt::format("keys-u{}-{}", bytes * 8, is_big ? "be" : "le");
      const TraceRead got = read_good_trace(format, file.bytes());
      ASSERT_EQ(got.requests.offset, keys) << format;
      EXPECT_EQ(detected_format(file.bytes()), format);
      const TraceRead blocks =
          read_good_trace(format, file.bytes(), {{"unit_bytes", std::int64_t{512}}});
      EXPECT_EQ(blocks.requests.offset[1], 7 * 512U);
      EXPECT_EQ(blocks.requests.length[1], 512U);
      EXPECT_EQ(blocks.kind, TraceKind::kBlocks);
    }
  }
}

// Ids that are hash values look alike in either order.
TEST(KeyIntegers, HashValuesNeedAStatedFormat) {
  TraceBytes file;
  for (std::uint64_t i = 0; i < 100; ++i) file.add((i % 60 + 1) * 0x9e37'79b9'7f4a'7c15, 8);
  EXPECT_THAT(detected_format(file.bytes()), HasSubstr("F: no known trace format"));
  EXPECT_EQ(read_good_trace("keys-u64-le", file.bytes()).requests.offset[0],
            0x9e37'79b9'7f4a'7c15U);
}

TEST(Keys, NumbersAreObjects) {
  const TraceRead got = read_good_trace("keys", "5\n*\n7 \n* phase 2\n5\n");
  EXPECT_THAT(got.requests.time, ElementsAre(0, 1, 2));
  EXPECT_THAT(got.requests.offset, ElementsAre(5, 7, 5));
  EXPECT_THAT(got.requests.length, ElementsAre(0, 0, 0));
  EXPECT_EQ(got.kind, TraceKind::kObjects);
  EXPECT_FALSE(got.has_text_keys);
  EXPECT_FALSE(got.has_lengths);
  EXPECT_EQ(got.time_base, TimeBase::kIndex);
  const TraceRead negative = read_good_trace("keys", "-5\n7\n-9223372036854775808\n");
  EXPECT_THAT(negative.requests.offset, ElementsAre(static_cast<std::uint64_t>(-5), 7, 1ULL << 63));
}

TEST(Keys, NumbersMayBeBlocks) {
  const TraceRead got = read_good_trace("keys", "5\n*\n7\n", {{"unit_bytes", std::int64_t{4096}}});
  EXPECT_THAT(got.requests.offset, ElementsAre(5 * 4096, 7 * 4096));
  EXPECT_THAT(got.requests.length, ElementsAre(4096, 4096));
  EXPECT_EQ(got.kind, TraceKind::kBlocks);
  EXPECT_EQ(complaint_about("keys", "1\nabc\n", {{"unit_bytes", std::int64_t{4096}}}),
            "web.csv:2: expected a block number (a whole number from 0 to 4503599627370494) in "
            "column 1, got 'abc'");
}

TEST(Keys, OneTextMakesAllKeysText) {
  const TraceRead got = read_good_trace("keys", "10\n7\n10\nab\n7\n");
  EXPECT_THAT(got.requests.offset, ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(got.keys, ElementsAre("10", "7", "ab"));
  EXPECT_TRUE(got.has_text_keys);
  // A number that is not printed in this way is another key than that number.
  EXPECT_THAT(read_good_trace("keys", "7\n007\n7\n").keys, ElementsAre("7", "007"));
  // In 64 bits these two would be the same.
  EXPECT_THAT(read_good_trace("keys", "-1\n18446744073709551615\n").keys,
              ElementsAre("-1", "18446744073709551615"));
  EXPECT_THAT(read_good_trace("keys", "99999999999999999999\n").keys,
              ElementsAre("99999999999999999999"));
}

TEST(Keys, TextBehindAChunkOfNumbersIsNamed) {
  std::string text;
  for (std::size_t i = 0; i < RequestReader::kChunk; ++i) text += "1\n";
  EXPECT_EQ(
      complaint_about("keys", text + "ab\n"),
      "web.csv:1048577: expected a key of 64 bits, as those before, got 'ab' (text_keys makes "
      "all of them text)");
  EXPECT_THAT(read_good_trace("keys", text + "ab\n", {{"text_keys", true}}).keys,
              ElementsAre("1", "ab"));
}

TEST(Keys, LinesThatAreNoKeysAreNamed) {
  EXPECT_EQ(complaint_about("keys", "1\n1 2\n"),
            "web.csv:2: expected a key (UTF-8 without control characters; text_keys allows blanks "
            "and delimiters), got '1 2'");
  for (const char* line : {"a,b", "a;b", "a\tb", "{\"a\": 1}", "# x", "a|b", "\x01", "\xff"}) {
    EXPECT_THAT(complaint_about("keys", std::string("a\n") + line + "\n"),
                HasSubstr("web.csv:2: expected a key"))
        << line;
  }
  EXPECT_THAT(read_good_trace("keys", "a b\n1,2\n", {{"text_keys", true}}).keys,
              ElementsAre("a b", "1,2"));
}

}  // namespace
}  // namespace mcsim
