// Trusts: each format's published description, as lines (or bytes) written by
// hand beside the requests they mean, and messages stated in full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/trace/formats/all.hpp"
#include "core/trace/formats/open_trace.hpp"
#include "core/trace/reading/text.hpp"
#include "tests/support/read_trace.hpp"

namespace mcsim {
namespace {

using ::testing::ElementsAre;

using ::mcsim::testing::complaint_about;
using ::mcsim::testing::detected_format;
using ::mcsim::testing::read_good_trace;
using ::mcsim::testing::read_trace;
using ::mcsim::testing::TraceRead;

// 2007-02-22 16:00:00 UTC, as a filetime and as a Unix time.
const std::string kFeb22 = "128166336000000000";
constexpr Nanoseconds kFeb22Unix = 1'172'160'000 * kSecond;

TEST(Msr, SevenColumnsMakeARequest) {
  const TraceRead got = read_good_trace("msr",
                                        "128166336000000001,web,0,Read,8192,4096,100\n"
                                        "128166336000000001,web,1,Write,0,512,5\r\n"
                                        "128166336000000007,web,0,Write,1024,0,-1");
  EXPECT_THAT(got.requests.time, ElementsAre(kFeb22Unix + 100, kFeb22Unix + 100, kFeb22Unix + 700));
  EXPECT_THAT(numbers_of(got.requests.vm), ElementsAre(0, 1, 0));
  EXPECT_THAT(got.requests.op, ElementsAre(0, 1, 1));
  EXPECT_THAT(got.requests.offset, ElementsAre(8192, 0, 1024));
  EXPECT_THAT(got.requests.length, ElementsAre(4096, 512, 0));
  EXPECT_THAT(got.requests.response, ElementsAre(10'000, 500, -1));
  EXPECT_THAT(got.vms, ElementsAre("web_0", "web_1"));
  EXPECT_EQ(got.time_base, TimeBase::kClock);
}

TEST(Msr, LinesThatContradictItAreNamed) {
  const std::string good = kFeb22 + ",web,0,Read,0,4096,1\n";
  std::string sixteen;
  for (int i = 0; i < 16; ++i) sixteen += good;
  const auto bad = [&](const std::string& line) { return complaint_about("msr", good + line); };
  EXPECT_EQ(complaint_about("msr", sixteen + kFeb22 + ",web,0,R,0,4096,1\n"),
            "web.csv:17: expected Read or Write in column 4, got 'R'");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,-1,4096,1"),
            "web.csv:2: expected an offset (a whole number) in column 5, got '-1'");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,0,4294967296,1"),
            "web.csv:2: expected a size (a whole number from 0 to 4294967295) in column 6, "
            "got '4294967296'");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,99999999999999999999,4096,1"),
            "web.csv:2: expected an offset (a whole number) in column 5, "
            "got '99999999999999999999'");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,18446744073709551615,4096,1"),
            "web.csv:2: offset + size exceeds 64 bits");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,0,4096"),
            "web.csv:2: expected a response time in column 7, but the line has 6 columns");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,0,4096,1,9"), "web.csv:2: expected 7 columns, got 8");
  EXPECT_EQ(bad("0,web,0,Read,0,4096,1"),
            "web.csv:2: expected a Windows filetime (a whole number from 116444736000000000 to "
            "208678456368547758) in column 1, got '0'");
  EXPECT_EQ(bad(kFeb22 + ",web,0,Read,0,4096,-7"),
            "web.csv:2: column 7: a negative response time (-1 is none known)");
  EXPECT_EQ(bad(kFeb22 + ",web"),
            "web.csv:2: expected a disk number in column 3, but the line has 2 columns");
}

TEST(Msr, ABadTimeIsAComplaintAndNoTime) {
  EXPECT_EQ(complaint_about("msr", "0,web,0,Read,0,4096,1\n"),
            "web.csv:1: expected a Windows filetime (a whole number from 116444736000000000 to "
            "208678456368547758) in column 1, got '0'");
}

TEST(Msr, NamesThatCannotBeShownAreRefused) {
  EXPECT_EQ(complaint_about("msr", kFeb22 + ",caf\xe9,0,Read,0,4096,1\n"),
            "web.csv:1: expected a host name (UTF-8 without control characters) in column 2, got "
            "'caf\\xe9'");
  EXPECT_EQ(complaint_about("msr", kFeb22 + ",,0,Read,0,4096,1\n"),
            "web.csv:1: expected a host name (UTF-8 without control characters) in column 2, got "
            "''");
  EXPECT_EQ(read_trace("msr", kFeb22 + ",caf\xc3\xa9,0,Read,0,4096,1\n").vms[0], "caf\xc3\xa9_0");
}

TEST(Msr, TheVolumeOfTheLineBeforeIsNotTakenForALongerOne) {
  const TraceRead got =
      read_good_trace("msr", kFeb22 + ",web,1,Read,0,1,1\n" + kFeb22 + ",web,11,Read,0,1,1\n" +
                                 kFeb22 + ",web,1,Read,0,1,1\n" + kFeb22 + ",we,1,Read,0,1,1\n");
  EXPECT_THAT(got.vms, ElementsAre("web_1", "web_11", "we_1"));
  EXPECT_THAT(numbers_of(got.requests.vm), ElementsAre(0, 1, 0, 2));
}

TEST(Arc, FourNumbersMakeARequest) {
  const TraceRead got = read_good_trace("arc", "3050771 25 0 0\n2461851 8 0 1\n 7  1\t0 2 \n");
  EXPECT_THAT(got.requests.time, ElementsAre(0, 25, 33));
  EXPECT_THAT(got.requests.offset, ElementsAre(3050771ULL * 4096, 2461851ULL * 4096, 7 * 4096));
  EXPECT_THAT(got.requests.length, ElementsAre(25 * 4096, 8 * 4096, 4096));
  EXPECT_THAT(got.requests.op, ElementsAre(0, 0, 0));
  EXPECT_THAT(got.requests.response, ElementsAre(-1, -1, -1));
  EXPECT_THAT(got.vms, ElementsAre("web"));
  EXPECT_EQ(got.time_base, TimeBase::kIndex);
}

TEST(Arc, TheUnitIsAParameter) {
  const TraceRead got = read_trace("arc", "10 2 0 0\n", {{"unit_bytes", std::int64_t{512}}});
  EXPECT_THAT(got.requests.offset, ElementsAre(5120));
  EXPECT_THAT(got.requests.length, ElementsAre(1024));
}

TEST(Arc, LinesThatContradictItAreNamed) {
  EXPECT_EQ(complaint_about("arc", "1 1 0\n"),
            "web.csv:1: expected a request number in column 4, but the line has 3 columns");
  EXPECT_EQ(complaint_about("arc", "1 1 0 0\n1 2000000 0 0\n"),
            "web.csv:2: expected a number of blocks (a whole number from 0 to 1048575) in column "
            "2, got '2000000'");
  EXPECT_EQ(complaint_about("arc", "4503599627370495 2 0 0\n"),
            "web.csv:1: the range exceeds 64 bits");
  EXPECT_EQ(complaint_about("arc", "1,1,0,0\n"),
            "web.csv:1: expected a first block (a whole number from 0 to 4503599627370495) in "
            "column 1, got '1,1,0,0'");
}

TEST(Csv, ItsOwnColumnsNeedNoMapping) {
  const TraceRead got = read_good_trace("csv",
                                        "time_ns,vm,op,offset,length,response_ns\n"
                                        "-5,a,read,0,4096,-1\n"
                                        "17,b,Write,18446744073709551615,0,30\n");
  EXPECT_THAT(got.requests.time, ElementsAre(-5, 17));
  EXPECT_THAT(numbers_of(got.requests.vm), ElementsAre(0, 1));
  EXPECT_THAT(got.requests.op, ElementsAre(0, 1));
  EXPECT_THAT(got.requests.offset, ElementsAre(0, ~std::uint64_t{0}));
  EXPECT_THAT(got.requests.length, ElementsAre(4096, 0));
  EXPECT_THAT(got.requests.response, ElementsAre(-1, 30));
  EXPECT_THAT(got.vms, ElementsAre("a", "b"));
}

TEST(Csv, ClassesAreWhatSomebodySaysTheyAre) {
  const std::string text = "time_ns,offset,class\n0,0,7\n5,4096,0\n";
  EXPECT_TRUE(read_trace("csv", text).requests.of_class.empty());
  EXPECT_THAT(read_trace("csv", text, {{"classes", std::string("class")}}).requests.of_class,
              ElementsAre(7, 0));
  EXPECT_EQ(complaint_about("csv", "offset,c\n0,8\n", {{"classes", std::string("c")}}),
            "web.csv:2: expected a class (a whole number from 0 to 7) in column 2 (c), got '8'");
  EXPECT_EQ(complaint_about("csv", "offset,c\n0,1\n", {{"classes", std::string("offset")}}),
            "web.csv:1: classes: column 1 already has another meaning");
}

TEST(Csv, ColumnsAreMappedByName) {
  const TraceRead got = read_good_trace(
      "csv", "version,time,op,size,lbn\n1,5633898368802,2a,512,3\n1,5633898368803,28,1024,9\n",
      {{"time", std::string("time")},
       {"time_unit", std::string("us")},
       {"read", std::string("28")},
       {"write", std::string("2A")},
       {"offset", std::string("lbn")},
       {"offset_unit", std::string("sectors")},
       {"length", std::string("size")}});
  EXPECT_THAT(got.requests.time, ElementsAre(5'633'898'368'802'000, 5'633'898'368'803'000));
  EXPECT_THAT(got.requests.op, ElementsAre(1, 0));
  EXPECT_THAT(got.requests.offset, ElementsAre(3 * 512, 9 * 512));
  EXPECT_THAT(got.requests.length, ElementsAre(512, 1024));
  EXPECT_THAT(got.vms, ElementsAre("web"));
}

TEST(Csv, ColumnsAreMappedByPosition) {
  const TraceRead got = read_good_trace("csv", "3\tweb\t1\tx\t5\t2\n4\tweb\t0\tx\t6\t1\n",
                                        {{"header", false},
                                         {"delimiter", std::string("tab")},
                                         {"time", std::string("1")},
                                         {"time_unit", std::string("s")},
                                         {"vm", std::string("2+3")},
                                         {"offset", std::string("5")},
                                         {"offset_unit", std::string("blocks")},
                                         {"length", std::string("6")},
                                         {"length_unit", std::string("blocks")},
                                         {"block_bytes", std::int64_t{1024}}});
  EXPECT_THAT(got.requests.time, ElementsAre(3 * kSecond, 4 * kSecond));
  EXPECT_THAT(got.requests.offset, ElementsAre(5 * 1024, 6 * 1024));
  EXPECT_THAT(got.requests.length, ElementsAre(2 * 1024, 1024));
  EXPECT_THAT(got.vms, ElementsAre("web_1", "web_0"));
}

TEST(Csv, UnitsOfTimeAreReadFromTheNameOrStated) {
  const auto first_time = [](const std::string& unit_in_name, const std::string& text) {
    const TraceRead got =
        read_good_trace("csv", "time" + unit_in_name + ",offset\n" + text + ",0\n");
    return got.requests.time.at(0);
  };
  EXPECT_EQ(first_time("_s", "1.5"), 1'500'000'000);
  EXPECT_EQ(first_time("_ms", "1.5"), 1'500'000);
  EXPECT_EQ(first_time("_us", "1.5"), 1'500);
  EXPECT_EQ(first_time("_ns", "1"), 1);
  EXPECT_EQ(first_time("_filetime", kFeb22), kFeb22Unix);
  EXPECT_EQ(first_time("_references", "12"), 12);
  EXPECT_EQ(
      complaint_about("csv", "time,offset\n1,0\n"),
      "web.csv:2: time_unit: state it (such as ms; in commands --option time_unit=ms); the name "
      "and the values of its column do not show it");
  EXPECT_EQ(complaint_about("csv", "offset,response_references\n0,1\n"),
            "web.csv:1: response_unit: expected a unit of time");
  EXPECT_EQ(read_trace("csv", "offset,response_filetime\n0,7\n").requests.response.at(0), 700);
}

TEST(Csv, WithoutAClockTimeCountsBlocks) {
  const TraceRead got = read_good_trace("csv", "offset,length\n0,4096\n4095,2\n100,0\n0,1\n");
  EXPECT_EQ(got.time_base, TimeBase::kIndex);
  EXPECT_THAT(got.requests.time, ElementsAre(0, 1, 3, 3));
  EXPECT_EQ(read_trace("csv", "time_references,offset\n5,0\n").time_base, TimeBase::kIndex);
  EXPECT_EQ(read_trace("csv", "time_ns,offset\n5,0\n").time_base, TimeBase::kClock);
}

TEST(Csv, WithoutALengthARequestTouchesOneBlock) {
  const TraceRead got = read_trace("csv", "time_s,offset\n1,100\n2,4096\n3,8191\n");
  EXPECT_THAT(got.requests.offset, ElementsAre(100, 4096, 8191));
  EXPECT_THAT(got.requests.length, ElementsAre(1, 1, 1));  // of a byte, which is in one block
  EXPECT_FALSE(got.has_lengths);
  EXPECT_THAT(read_trace("csv", "offset\n100\n5000\n", {}).requests.time, ElementsAre(0, 1));
}

TEST(Csv, NumbersInTheMappingArePositionsNotNames) {
  const TraceRead got = read_trace(
      "csv", "0,1,2\n10,4096,7\n",
      {{"time", std::string("1")}, {"time_unit", std::string("s")}, {"offset", std::string("2")}});
  EXPECT_THAT(got.requests.offset, ElementsAre(4096));
  EXPECT_EQ(complaint_about("csv", "0,1,2\n10,4096,7\n", {{"offset", std::string("0")}}),
            "web.csv:1: offset: no column 0 among 3");
}

TEST(Csv, MistakesInTheMappingAreNamed) {
  const auto with = [](ParamMap params) { return complaint_about("csv", "a,b\n1,2\n", params); };
  EXPECT_EQ(
      with({}),
      "web.csv:1: offset: state the column, one of a, b (or key, if requests are for objects)");
  EXPECT_EQ(with({{"offset", std::string("lbn")}}),
            "web.csv:1: offset: no column 'lbn' (did you mean 'b'?); there are a, b");
  EXPECT_EQ(with({{"offset", std::string("3")}}), "web.csv:1: offset: no column 3 among 2");
  EXPECT_EQ(with({{"offset", std::string("a")}, {"length", std::string("1")}}),
            "web.csv:1: length: column 1 already has another meaning");
  EXPECT_EQ(with({{"offset", std::string("a")}, {"delimiter", std::string("ab")}}),
            "web.csv:1: delimiter: expected one character, tab or space, got 'ab'");
  EXPECT_EQ(with({{"offset", std::string("a")}, {"header", false}}),
            "web.csv:1: offset: no column 'a': without a header give its position from 1");
  EXPECT_EQ(with({{"ofset", std::string("a")}}),
            "csv: unknown parameter 'ofset' (did you mean 'offset'?)");
  EXPECT_EQ(with({{"size", std::string("a")}}),
            "csv: unknown parameter 'size' (did you mean 'length'?)");
  EXPECT_EQ(read_trace("csv", "a\n", {}).status.code(), absl::StatusCode::kNotFound);
}

TEST(Csv, LinesThatContradictItAreNamed) {
  const auto bad = [](const std::string& line) {
    return complaint_about("csv", "time_ns,op,offset,length\n1,r,0,1\n" + line);
  };
  EXPECT_EQ(
      bad("2,erase,0,1"),
      "web.csv:3: expected read, r (read); write, w (write); discard, trim, delete, unmap, d, "
      "t (discard); flush, sync, fsync, f (flush) in column 2 (op), got 'erase'");
  EXPECT_EQ(bad("2,r,0"),
            "web.csv:3: expected a length in column 4 (length), but the line has 3 columns");
  EXPECT_EQ(bad("2,r,0,1,2"), "web.csv:3: expected 4 columns, got 5");
  EXPECT_EQ(bad("two,r,0,1"), "web.csv:3: expected a time in column 1 (time_ns), got 'two'");
  EXPECT_EQ(bad("2,r,18446744073709551615,1"), "web.csv:3: offset + length exceeds 64 bits");
  EXPECT_EQ(bad("0,r,0,1"),
            "web.csv:3: time goes back from 1 to 0 (on_unsorted: sort puts requests in order)");
}

TEST(Csv, AVmWithoutANameIsABadLine) {
  EXPECT_EQ(complaint_about("csv", "time_ns,vm,offset\n1,,0\n2,b,0\n"),
            "web.csv:2: expected the name of a VM (UTF-8 without control characters) in column 2 "
            "(vm), got ''");
  EXPECT_EQ(
      complaint_about("csv", "time_ns,host,disk,offset\n1,,0,0\n", {{"vm", std::string("2+3")}}),
      "web.csv:2: expected the name of a VM (UTF-8 without control characters) in column 2 "
      "(host), got ''");
  EXPECT_EQ(complaint_about("csv", "time_ns,vm,offset\n1,\"a\tb\",0\n"),
            "web.csv:2: expected the name of a VM (UTF-8 without control characters) in column 2 "
            "(vm), got 'a\\x09b'");
  const TraceRead kept =
      read_trace("csv", "time_ns,vm,offset\n1,,0\n2,b,0\n", {}, {.on_bad_line = OnBadLine::kSkip});
  EXPECT_THAT(kept.vms, ElementsAre("b"));
  EXPECT_EQ(kept.rows.skipped, 1);
}

TEST(Readers, BadLinesMayBeSkippedAndAreReported) {
  const TraceRead got = read_good_trace("arc", "1 1 0 0\nx\n2 1 0 1\n-3 1 0 2\n\n4 1 0 3\n", {},
                                        {.on_bad_line = OnBadLine::kSkip});
  EXPECT_THAT(got.requests.offset, ElementsAre(4096, 2 * 4096, 4 * 4096));
  EXPECT_EQ(got.rows.skipped, 2);
  ASSERT_EQ(got.rows.complaints.size(), 2U);
  EXPECT_EQ(got.rows.complaints[1],
            "web.csv:4: expected a first block (a whole number from 0 to 4503599627370495) in "
            "column 1, got '-3'");
}

TEST(Readers, WhatMakesAllLinesMeaninglessIsNeverSkipped) {
  EXPECT_EQ(
      message_of(read_trace("csv", "a,b\n1,2\n", {}, {.on_bad_line = OnBadLine::kSkip}).status),
      "web.csv:1: offset: state the column, one of a, b (or key, if requests are for objects)");
}

TEST(Readers, UnsortedTimesMayBeKept) {
  const std::string text = "time_ns,offset\n5,0\n3,1\n9,2\n";
  EXPECT_FALSE(read_trace("csv", text).status.ok());
  const TraceRead kept = read_good_trace("csv", text, {}, {.on_unsorted = OnUnsorted::kKeep});
  EXPECT_THAT(kept.requests.time, ElementsAre(5, 3, 9));
  EXPECT_TRUE(kept.unsorted);
  EXPECT_FALSE(read_trace("csv", "time_ns,offset\n5,0\n5,1\n").unsorted);
}

TEST(Readers, AFileWithoutRequestsIsAnError) {
  EXPECT_EQ(complaint_about("msr", ""), "web.csv: there are no requests in it");
  EXPECT_EQ(complaint_about("keys", "* only marks\n\n"),
            "web.csv: there are no requests in it (1 rows filtered)");
  EXPECT_EQ(message_of(read_trace("arc", "x\ny\n", {}, {.on_bad_line = OnBadLine::kSkip}).status),
            "web.csv: there are no requests in it (2 unreadable rows skipped)");
  EXPECT_EQ(complaint_about("oracle-general", ""), "web.csv: there are no requests in it");
}

TEST(Readers, LongFilesComeInChunks) {
  std::string text;
  constexpr std::size_t kKeys = RequestReader::kChunk + 3;
  for (std::size_t i = 0; i < kKeys; ++i) text += "1\n";
  auto reader = *formats().make(
      "keys", {}, ReaderContext{.source = *open_bytes(text, "t"), .name = "t", .vm_name = "t"});
  Requests chunk;
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), RequestReader::kChunk);
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 3U);
  EXPECT_EQ(chunk.time.back(), static_cast<Nanoseconds>(kKeys - 1));
  ASSERT_TRUE(reader->next(chunk).ok());
  EXPECT_EQ(chunk.size(), 0U);
}

TEST(Readers, VmsAreNamedAfterFiles) {
  EXPECT_EQ(vm_name_of("traces/web_0.csv.gz"), "web_0");
  EXPECT_EQ(vm_name_of("OLTP.lis"), "OLTP");
  EXPECT_EQ(vm_name_of("a.b/plain"), "plain");
  EXPECT_EQ(vm_name_of(".hidden.csv"), ".hidden");
}

TEST(Readers, FilesWhoseNamesCannotBeShownLendThemEscaped) {
  EXPECT_EQ(vm_name_of("caf\xe9.csv"), "caf\\xe9");
  EXPECT_EQ(vm_name_of("a\nb.csv"), "a\\x0ab");
}

const std::string kMsrLine = kFeb22 + ",web,0,Read,0,4096,1\n";

TEST(Detection, TellsFormatsByContent) {
  EXPECT_EQ(detected_format(kMsrLine), "msr");
  EXPECT_EQ(detected_format("\xef\xbb\xbf" + kMsrLine), "msr");
  EXPECT_EQ(detected_format("time_ns,offset\n1,0\n"), "csv");
  EXPECT_EQ(detected_format("1 1 0 0\n"), "arc");
  EXPECT_EQ(detected_format("1\n"), "keys");
}

TEST(Detection, ReadsOnBehindLinesThatMeanNothing) {
  std::string marks;
  for (int i = 0; i < 20'000; ++i) marks += "*\n";
  EXPECT_EQ(detected_format(marks + "17\n"), "keys");
  EXPECT_EQ(detected_format(marks.substr(0, 400) + "17\n"), "keys");
}

TEST(Detection, AHeaderWhereThereIsNoneIsNamed) {
  EXPECT_EQ(detected_format("device,type,start,bytes,stamp\n3,W,0,4096,5\n"),
            "F:1: 'device,type,start,bytes,stamp' is a header, which the format alibaba "
            "of what follows does not have: remove it, or state the format with on_bad_line: skip");
}

TEST(Detection, TakesAnMsrTraceWithAHeader) {
  EXPECT_EQ(
      detected_format("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n" + kMsrLine),
      "msr");
}

TEST(Detection, TextInUtf16IsNamed) {
  EXPECT_EQ(detected_format(std::string("\xff\xfe"
                                        "1\0\n\0",
                                        6)),
            "F: this is text in UTF-16, expected UTF-8 (iconv -f UTF-16 -t UTF-8 converts)");
}

TEST(Detection, TakesTheBestGuessOrNamesAll) {
  const Guess no{"a", Fit::kNo, "bad"};
  const Guess possible{"b", Fit::kPossible, ""};
  const Guess other{"c", Fit::kPossible, ""};
  const Guess certain{"d", Fit::kCertain, ""};
  const auto decided = [](std::vector<Guess> guesses) {
    const auto format = decide("x", {.bytes = "1\n2\n3\n4\n", .whole = true}, guesses);
    return format.ok() ? format->name : message_of(format.status());
  };
  EXPECT_EQ(decided({no, possible}), "b");
  EXPECT_EQ(decided({possible, no, certain, other}), "d");
  EXPECT_EQ(decided({no, possible, other}), "x: could be b or c; state the format");
  const Guess integers{"i", Fit::kIntegers, ""};
  const Guess partial{"p", Fit::kPartial, "record 5: bad", 4};
  const Guess farther{"q", Fit::kPartial, "record 9: bad", 8};
  const Guess uncertain{"u", Fit::kUncertain, "record 2: time jumps"};
  EXPECT_EQ(decided({no, integers}), "i");
  EXPECT_EQ(decided({integers, partial, farther, uncertain}), "q");
  EXPECT_EQ(decided({integers, uncertain}),
            "x: could be u (record 2: time jumps); state the format");
  EXPECT_EQ(decided({partial, possible}), "b");
  EXPECT_EQ(decided({no, {"e", Fit::kNo, "worse", 1}}),
            "x: no known trace format. It begins:\n    1\n    2\n    3\n"
            "The nearest format is e: worse.\nmcsim trace map x proposes which column is what");
}

}  // namespace
}  // namespace mcsim
