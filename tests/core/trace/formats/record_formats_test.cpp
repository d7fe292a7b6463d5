// Trusts: the structs that libCacheSim's customizedReader, the Linux kernel's blktrace and Python's
// struct module document, written here field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/format_seeds.hpp"
#include "tests/support/read_trace.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)

TEST(LibCacheSimRecords, EveryLayoutHasItsFields) {
  for (const auto& [format, record_bytes] : libcachesim_records()) {
    const std::string bytes = format_seeds().at(format);
    ASSERT_EQ(bytes.size(), 4 * record_bytes) << format;
    const TraceRead got = read_good_trace(format, bytes);
    const bool has_time = !format.ends_with("wiki16u");
    const bool has_op =
        format.ends_with("iqibh") || format.ends_with("op-ns") || format.ends_with("sys-twr-ns");
    if (has_time) {
      EXPECT_THAT(got.requests.time, ElementsAre(kSecond, 2 * kSecond, 3 * kSecond, 3 * kSecond))
          << format;
    } else {
      EXPECT_THAT(got.requests.time, ElementsAre(0, 1, 2, 3)) << format;
    }
    EXPECT_EQ(got.time_base, has_time ? TimeBase::kClock : TimeBase::kIndex) << format;
    EXPECT_THAT(got.requests.offset, ElementsAre(7, 9, 7, 8)) << format;
    EXPECT_THAT(got.requests.length, Each(4096)) << format;
    EXPECT_THAT(got.requests.op, ElementsAre(0, has_op ? 1 : 0, 0, 0)) << format;
    EXPECT_EQ(got.kind, TraceKind::kObjects) << format;
    EXPECT_FALSE(got.has_text_keys) << format;
  }
}

TEST(LibCacheSimRecords, AreRecognised) {
  for (const auto& [format, record_bytes] : libcachesim_records()) {
    if (format == "wiki16u") continue;  // neither times nor next accesses
    const bool is_alias = format == "oracle-sim-twr-ns";
    EXPECT_EQ(detected_format(format_seeds().at(format)), is_alias ? "oracle-akamai" : format);
  }
  EXPECT_EQ(detected_format(format_seeds().at("twr-ns")), "twr-ns");
}

TEST(LibCacheSimRecords, WithoutMarksAreRecognisedByRepeatedObjectsOnly) {
  for (const char* format :
       {"standard-iqi", "standard-iqq", "standard-iii", "akamai", "cf1", "wiki16u", "wiki19u"}) {
    std::string once;
    for (std::uint64_t i = 1; i <= 4; ++i) once += libcachesim_record(format, {.time = i, .id = i});
    EXPECT_THAT(read_good_trace(format, once).requests.offset, ElementsAre(1, 2, 3, 4));
    EXPECT_NE(detected_format(once), format);
    EXPECT_NE(detected_format(libcachesim_record(format, {.time = 1, .id = 1})), format);
  }
}

TEST(LibCacheSimRecords, SequentialIntegersRemainKeys) {
  for (const unsigned bytes : {4U, 8U}) {
    TraceBytes keys;
    for (std::uint64_t key = 1; key <= 1200; ++key) keys.add(key, bytes);
    EXPECT_EQ(detected_format(keys.bytes()), fmt::format("keys-u{}-le", bytes * 8));
  }
}

TEST(LibCacheSimRecords, LoopsOverBigEndianIntegersRemainKeys) {
  std::string keys;
  for (std::uint64_t i = 0; i < 9000; ++i) {
    TraceBytes key;
    key.add((1ULL << 50) + i % 1000, 8);
    const std::string little = key.bytes();
    keys.append(little.rbegin(), little.rend());
  }
  EXPECT_EQ(detected_format(keys), "keys-u64-be");
}

TEST(LibCacheSimRecords, ObjectsWithoutASizeAreFiltered) {
  for (const auto& [format, record_bytes] : libcachesim_records()) {
    const std::uint64_t none = format == "oracle-sys-twr-ns" ? 20 : 0;  // a key without a value
    const std::string bytes = libcachesim_record(format, {.time = 1, .id = 7, .size = none}) +
                              libcachesim_record(format, {.time = 2, .id = 8, .size = 50});
    const TraceRead got = read_good_trace(format, bytes);
    EXPECT_THAT(got.requests.offset, ElementsAre(8)) << format;
    EXPECT_EQ(got.rows.filtered, 1) << format;
  }
}

TEST(LibCacheSimRecords, TimesOfFilteredRecordsMustBeInOrderToo) {
  const std::string record = libcachesim_record("standard-iqi", {.time = 9, .id = 7});
  EXPECT_EQ(complaint_about("standard-iqi",
                            record + libcachesim_record("standard-iqi", {.time = 8, .size = 0})),
            "web.csv: record 2: time goes back from 9000000000 to 8000000000 (on_unsorted: sort "
            "puts requests in order)");
}

TEST(LibCacheSimRecords, NegativeSizesOfOracleCf1AreUnsigned) {
  const std::string record =
      libcachesim_record("oracle-cf1", {.time = 1, .id = 7, .size = 0xffff'ffff'f000'0000});
  EXPECT_THAT(read_good_trace("oracle-cf1", record).requests.length, ElementsAre(0xf000'0000));
  EXPECT_EQ(complaint_about("cf1", libcachesim_record("cf1", {.size = 0xffff'ffff'f000'0000})),
            "web.csv: record 1: size: expected 0 to 4294967295 bytes, got 18446744073441116160");
}

TEST(LibCacheSimRecords, OtherFormatsAreNamed) {
  EXPECT_EQ(complaint_about("wiki16u", format_seeds().at("lcs")),
            "web.csv: record 1: expected records of wiki16u, got lcs");
}

TEST(TwrNs, TwentyTwoBytesMakeARequest) {
  const TraceRead got =
      read_good_trace("twr-ns", twr_ns_record(1, 5, 10, 200, 1) + twr_ns_record(2, 5, 10, 0, 1) +
                                    twr_ns_record(2, 1ULL << 63, 1, (1 << 22) - 1, 3) +
                                    twr_ns_record(3, 5, 10, 0, 9));
  EXPECT_THAT(got.requests.time, ElementsAre(kSecond, 2 * kSecond, 3 * kSecond));
  EXPECT_THAT(got.requests.offset, ElementsAre(5, 1ULL << 63, 5));
  EXPECT_THAT(got.requests.length, ElementsAre(210, 1 << 22, 10));
  EXPECT_THAT(got.requests.op, ElementsAre(0, 1, 2));
  EXPECT_EQ(got.rows.filtered, 1);  // a read of nothing
}

// Categories of blktrace.
constexpr std::uint64_t kRead = 1 << 0, kWrite = 1 << 1, kFlush = 1 << 2, kPassThrough = 1 << 9,
                        kNotify = 1 << 10, kReadahead = 1 << 11, kDiscard = 1 << 13;

TEST(Blktrace, EventsOfOneKindAreRequests) {
  for (const bool is_big : {false, true}) {
    const auto event = [&](BlktraceFields fields) {
      fields.is_big = is_big;
      return blktrace_event(fields);
    };
    const std::string bytes =
        event({.bytes = 0, .event = 1, .categories = kNotify, .data = "message"}) +
        event({.time = 10, .sector = 1000, .categories = kRead, .data = "cgroup-1"}) +
        event({.time = 11, .sector = 1000, .event = 7, .categories = kRead}) +
        event({.time = 12, .sector = 1000, .event = 8, .categories = kRead}) +
        event({.time = 20, .sector = 2000, .bytes = 8192, .event = 0x101, .categories = kWrite}) +
        event({.time = 21, .bytes = 0, .event = 9}) +
        event({.time = 30, .bytes = 0, .categories = kWrite | kFlush}) +
        event({.time = 31, .sector = 8, .categories = kWrite | kFlush}) +
        event({.time = 32, .bytes = 0}) +
        event({.time = 33, .bytes = 36, .categories = kRead | kPassThrough}) +
        event({.time = 40, .sector = 2000, .categories = kWrite | kDiscard}) +
        event({.time = 50, .categories = kRead | kReadahead, .device = 259 << 20 | 70'000});
    const TraceRead got = read_good_trace("blktrace", bytes);
    EXPECT_THAT(got.requests.time, ElementsAre(10, 20, 31, 40, 50));
    EXPECT_THAT(got.requests.op, ElementsAre(0, 1, 1, 2, 0));
    EXPECT_THAT(got.requests.offset, ElementsAre(512'000, 1'024'000, 4096, 1'024'000, 0));
    EXPECT_THAT(got.requests.length, ElementsAre(4096, 8192, 4096, 4096, 4096));
    EXPECT_THAT(got.vms, ElementsAre("8,0", "259,70000"));
    EXPECT_THAT(numbers_of(got.requests.vm), ElementsAre(0, 0, 0, 0, 1));
    EXPECT_EQ(got.rows.flushes, 2);  // one before the data of a write
    EXPECT_EQ(got.rows.filtered, 6);
    EXPECT_EQ(got.kind, TraceKind::kBlocks);
    EXPECT_EQ(detected_format(bytes), "blktrace");
    for (const auto& [name, time] : {std::pair{"D", 11}, std::pair{"C", 12}}) {
      EXPECT_THAT(read_good_trace("blktrace", bytes, {{"event", std::string(name)}}).requests.time,
                  ElementsAre(time));
    }
  }
}

TEST(Blktrace, DataBehindEventsIsPassedOverAcrossBuffers) {
  std::string bytes;
  for (std::uint64_t i = 0; i < 40; ++i) {
    bytes += blktrace_event({.time = i, .sector = i, .data = std::string(60'000 + i, 'x')});
  }
  const TraceRead got = read_good_trace("blktrace", bytes);
  EXPECT_THAT(got.requests.time, SizeIs(40));
  EXPECT_EQ(got.requests.offset.back(), 39 * 512U);
  EXPECT_EQ(complaint_about("blktrace", bytes.substr(0, bytes.size() - 5)),
            "web.csv: record 40: its data lack 5 bytes: the file is cut short");
}

TEST(Blktrace, EventsThatContradictItAreNamed) {
  const std::string first = blktrace_event({.time = 5});
  const auto second = [&](const BlktraceFields& fields) {
    return complaint_about("blktrace", first + blktrace_event(fields));
  };
  EXPECT_EQ(second({.time = 4}),
            "web.csv: record 2: time goes back from 5 to 4 (on_unsorted: sort puts requests in "
            "order)");
  EXPECT_EQ(second({.time = 6, .magic = 0x65617408}),
            "web.csv: record 2: version: expected 7, got 8");
  EXPECT_EQ(second({.time = 6, .magic = 7}),
            "web.csv: record 2: magic: expected 0x656174, got 0x0");
  EXPECT_EQ(second({.time = 6, .event = 18}), "web.csv: record 2: action: there is no event 18");
  EXPECT_EQ(second({.time = 6, .bytes = 100}),
            "web.csv: record 2: bytes: expected whole sectors of 512 B, got 100");
}

ParamMap binary_params(const std::string& record, ParamMap others) {
  others.insert({"record", record});
  return others;
}

TEST(Binary, FieldsAreMappedByPosition) {
  const std::string bytes =
      TraceBytes().add(7, 4).add(0, 2).add(3, 8).add(16, 2).add(9, 1).bytes() +
      TraceBytes().add(8, 4).add(0, 2).add(5, 8).add(8, 2).add(4, 1).bytes();
  const TraceRead got =
      read_good_trace("binary", bytes,
                      binary_params("<I2xQHB", {{"time", std::string("1")},
                                                {"time_unit", std::string("ms")},
                                                {"offset", std::string("2")},
                                                {"offset_unit", std::string("blocks")},
                                                {"length", std::string("3")},
                                                {"length_unit", std::string("sectors")},
                                                {"op", std::string("4")},
                                                {"read", std::string("9")},
                                                {"write", std::string("4")},
                                                {"vm", std::string("none")}}));
  EXPECT_THAT(got.requests.time, ElementsAre(7'000'000, 8'000'000));
  EXPECT_THAT(got.requests.offset, ElementsAre(3 * 4096, 5 * 4096));
  EXPECT_THAT(got.requests.length, ElementsAre(8192, 4096));
  EXPECT_THAT(got.requests.op, ElementsAre(0, 1));
  EXPECT_THAT(got.vms, ElementsAre("web"));
}

TEST(Binary, EveryTypeAndOrderIsRead) {
  const std::string little =
      TraceBytes().add(0xfe, 1).add(0xfffd, 2).add(0x4048'0000, 4).add(~0ULL, 8).bytes();
  const TraceRead got = read_good_trace("binary", little,
                                        binary_params("<bhfq", {{"time", std::string("3")},
                                                                {"time_unit", std::string("s")},
                                                                {"key", std::string("4")},
                                                                {"vm", std::string("1+2")}}));
  EXPECT_THAT(got.requests.time, ElementsAre(3'125'000'000));
  EXPECT_THAT(got.requests.offset, ElementsAre(~0ULL));
  EXPECT_THAT(got.vms, ElementsAre("-2_-3"));
  EXPECT_FALSE(got.has_text_keys);
  const std::string big = TraceBytes().add_big(258, 2).add_big(0x4009'0000'0000'0000, 8).bytes();
  const TraceRead swapped =
      read_good_trace("binary", "a header" + big,
                      binary_params(">Hd", {{"key", std::string("1")},
                                            {"time", std::string("2")},
                                            {"time_unit", std::string("s")},
                                            {"skip_bytes", std::int64_t{8}}}));
  EXPECT_THAT(swapped.requests.offset, ElementsAre(258));
  EXPECT_THAT(swapped.requests.time, ElementsAre(3'125'000'000));
}

TEST(Binary, HeadersMayBeLong) {
  const ParamMap params =
      binary_params("<Q", {{"offset", std::string("1")}, {"skip_bytes", std::int64_t{1'000'000}}});
  const std::string header(1'000'000, '\x01');
  EXPECT_THAT(
      read_good_trace("binary", header + TraceBytes().add(512, 8).bytes(), params).requests.offset,
      ElementsAre(512));
  EXPECT_EQ(complaint_about("binary", header.substr(1), params),
            "web.csv: header: the file ends 1 bytes before");
  EXPECT_EQ(complaint_about("binary", header.substr(0, 5), params),
            "web.csv: header: 5 of 1000000 bytes, and no record");
}

TEST(Binary, RepeatedWhereAndClassesAreThoseOfTables) {
  TraceBytes file;
  file.add(1, 8).add(3, 1).add(0, 1);
  file.add(2, 8).add(1, 1).add(1, 1);
  file.add(3, 8).add(0, 1).add(0, 1);
  const TraceRead got = read_good_trace("binary", file.bytes(),
                                        binary_params("<QBB", {{"key", std::string("1")},
                                                               {"repeat", std::string("2")},
                                                               {"where", std::string("3=0")}}));
  EXPECT_THAT(got.requests.offset, ElementsAre(1, 1, 1));
  EXPECT_EQ(got.rows.repeated, 2);
  EXPECT_EQ(got.rows.filtered, 2);
}

TEST(Binary, MappingsThatCannotBeAreNamed) {
  const std::string bytes = TraceBytes().add(1, 4).add(2, 8).add(3, 4).bytes();
  const auto complaint = [&](const std::string& record, const ParamMap& params) {
    return complaint_about("binary", bytes, binary_params(record, params));
  };
  const ParamMap key{{"key", std::string("2")}};
  EXPECT_EQ(complaint("", key),
            "web.csv: record: expected < (little-endian) or > and types such as <IQI, got ''");
  EXPECT_EQ(complaint("IQI", key),
            "web.csv: record: expected < (little-endian) or > and types such as <IQI, got 'IQI'");
  EXPECT_EQ(
      complaint("<IQs", key),
      "web.csv: record: unknown type 's' at position 4; there are b B h H i I l L q Q f d, c, "
      "and x for a byte to pass over");
  EXPECT_EQ(complaint("<IQ3", key),
            "web.csv: record: no type behind the count at the end of '<IQ3'");
  EXPECT_EQ(complaint("<16x", key), "web.csv: record: there are no fields in '<16x'");
  EXPECT_EQ(complaint("<9999x", key), "web.csv: record: a record has at most 4096 bytes");
  EXPECT_EQ(complaint("<IQI", {{"key", std::string("4")}}), "web.csv: key: no column 4 among 3");
  EXPECT_EQ(complaint("<IdI", key), "web.csv: key: column 2 is a fraction, expected an integer");
  EXPECT_EQ(complaint("<IQI", {}),
            "web.csv: offset: state the column by its position from 1 (or key, if requests are for "
            "objects)");
  EXPECT_EQ(complaint("<IQIH", key), "web.csv: record 1: 16 of 18 bytes: the file is cut short");
  EXPECT_EQ(
      complaint("<IQI", {{"key", std::string("2")}, {"time", std::string("1")}}),
      "web.csv: record 1: time_unit: state it (such as ms; in commands --option time_unit=ms); "
      "the name and the values of its column do not show it");
}

TEST(Binary, ValuesThatCannotBeAreNamed) {
  const std::string bytes = TraceBytes().add(1, 8).add(~0ULL, 8).bytes();
  EXPECT_EQ(complaint_about("binary", bytes,
                            binary_params("<qq", {{"time", std::string("1")},
                                                  {"time_unit", std::string("s")},
                                                  {"offset", std::string("2")}})),
            "web.csv: record 1: expected an offset (a whole number) in column 2, got '-1'");
  EXPECT_EQ(complaint_about("binary", bytes,
                            binary_params("<QQ", {{"offset", std::string("2")},
                                                  {"offset_unit", std::string("sectors")}})),
            "web.csv: record 1: expected an offset (a whole number from 0 to 36028797018963967) in "
            "column 2, got '18446744073709551615'");
}

}  // namespace
}  // namespace mcsim
