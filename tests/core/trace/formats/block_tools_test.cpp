// Trusts: rows and events that were written by hand as the tools print them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/trace/reading/operation_words.hpp"
#include "tests/support/read_trace.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim {
namespace {

using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Biosnoop, FlushesOfLibbpfToolsHaveNoSector) {
  const TraceRead got = read_good_trace(
      "biosnoop",
      "TIME(s)     COMM           PID    DISK      T  SECTOR     BYTES   QUE(ms)  LAT(ms)\n"
      "0.000000    jbd2/sda1-8    300    sda       FF -1         0       0.001    2.5\n"
      "0.100000    app            301    sda       R  8          4096    0.001    0.25\n"
      "0.200000    kworker/0:1    302    sda       D  16         8192    0.001    0.50\n");
  EXPECT_THAT(got.requests.op, ElementsAre(0, 2));
  EXPECT_THAT(got.requests.offset, ElementsAre(4096, 8192));
  EXPECT_THAT(got.requests.response, ElementsAre(250'000, 500'000));
  EXPECT_EQ(got.rows.flushes, 1);
  EXPECT_EQ(complaint_about("biosnoop",
                            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"
                            "0.1 app 301 sda R -1 4096 0.25\n"),
            "web.csv:2: expected an offset (a whole number from 0 to 36028797018963967) in column "
            "6, got '-1'");
}

constexpr const char* kNote =
    "A events: device 8,1 on 8,0: one I/O appears at two levels, as requests of two VMs; select "
    "the devices of one level";

TEST(Blkparse, RemapsBetweenDevicesWithRequestsAreNoted) {
  const std::string upper = "8,1 0 1 0.000000000 700 Q R 0 + 8 [app]\n";
  const std::string remap = "8,0 0 2 0.000001000 700 A R 2048 + 8 <- (8,1) 0\n";
  const std::string lower = "8,0 0 3 0.000002000 700 Q R 2048 + 8 [app]\n";
  EXPECT_THAT(read_good_trace("blkparse", upper + remap + lower).notes, ElementsAre(kNote));
  EXPECT_THAT(read_good_trace("blkparse", remap + lower).notes, IsEmpty());
  EXPECT_THAT(read_good_trace("blkparse", upper + remap).notes, IsEmpty());
  EXPECT_THAT(read_good_trace("blkparse", upper + lower).notes, IsEmpty());
}

std::string device_in_big_endian(std::uint32_t device) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(device >> shift);
  return bytes;
}

TEST(Blktrace, RemapsBetweenDevicesWithRequestsAreNoted) {
  constexpr std::uint32_t kUpper = 8 << 20 | 1, kLower = 8 << 20;
  const std::string from_to =
      device_in_big_endian(kUpper) + device_in_big_endian(kLower) + std::string(8, '\0');
  for (const bool is_big : {false, true}) {
    for (const std::string& group : {std::string(), std::string(8, 'g')}) {
      const auto event = [&](BlktraceFields fields) {
        fields.is_big = is_big;
        return blktrace_event(fields);
      };
      const std::uint32_t remap = group.empty() ? 15 : 0x10f;
      const std::string upper = event({.time = 1, .categories = 1, .device = kUpper});
      const std::string moved = event(
          {.time = 2, .event = remap, .categories = 1, .device = kLower, .data = group + from_to});
      const std::string lower = event({.time = 3, .categories = 1, .device = kLower});
      const TraceRead got = read_good_trace("blktrace", upper + moved + lower);
      EXPECT_THAT(got.requests.time, ElementsAre(1, 3));
      EXPECT_THAT(got.notes, ElementsAre(kNote));
      EXPECT_THAT(read_good_trace("blktrace", moved + lower).notes, IsEmpty());
    }
  }
}

TEST(OperationWords, LettersOfBlockRequestsAreKnownByDefault) {
  const auto expect = [](const char* letters, std::optional<Operation> operation) {
    EXPECT_EQ(operation_of_rwbs(letters), operation) << letters;
  };
  for (const char* read : {"R", "RA", "RS", "RSM", "RAM", "FR"}) expect(read, Operation::kRead);
  for (const char* write : {"W", "WS", "WSM", "WFS", "FWS", "FWFS", "WM"})
    expect(write, Operation::kWrite);
  for (const char* discard : {"D", "DS", "DE", "FD"}) expect(discard, Operation::kDiscard);
  for (const char* flush : {"F", "FF", "FS", "FFS", "FN"}) expect(flush, Operation::kFlush);
  for (const char* ignored : {"N", "NS", "ZR", "ZRAS"}) expect(ignored, Operation::kIgnored);
  for (const char* other : {"", "ra", "READ", "DEFAULT", "X", "R1", "RW", "RASMEFASM"})
    expect(other, std::nullopt);
  const TraceRead got =
      read_good_trace("csv", "op,offset\nRA,0\nWS,4096\nFF,0\nDS,8192\nread,0\nN,0\n");
  EXPECT_THAT(got.requests.op, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(got.rows.flushes, 1);
  EXPECT_EQ(got.rows.filtered, 1);
  // Stated words are the only ones.
  EXPECT_FALSE(read_trace("csv", "op,offset\nRA,0\n", {{"read", std::string("R")}}).status.ok());
}

TEST(CsvQuotes, TwoWithinQuotesAreOne) {
  const TraceRead got = read_good_trace("csv",
                                        "time_s,vm,offset\n"
                                        "1,\"8,0\",0\n2,\"a\"\"b\",0\n3,\"\"\"\",0\n4,\" a\",0\n"
                                        "5,\"\"\"a\"\"\",0\n6, a ,0\n7,\"a\"\"b\",0\n");
  EXPECT_THAT(got.vms, ElementsAre("8,0", "a\"b", "\"", " a", "\"a\"", "a"));
  EXPECT_EQ(got.requests.vm.back(), 1);
  for (const char* row : {"\"a", "\"a\"b", "\"a\"\"", "\"a\"\"b\"c"}) {
    EXPECT_FALSE(read_trace("csv", std::string("vm,offset\n") + row + ",0\n").status.ok()) << row;
  }
  // The value of a condition, too.
  EXPECT_THAT(read_good_trace("csv", "offset,name\n0,\"a\"\"b\"\n4096,b\n",
                              {{"where", std::string("name=a\"b")}})
                  .requests.offset,
              ElementsAre(0));
}

}  // namespace
}  // namespace mcsim
