// Trusts: the structs of the formats, written here field by field, and next accesses found by a
// map from the end. A damaged file is never taken for another format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/base/random.hpp"
#include "tests/support/compress.hpp"
#include "tests/support/format_seeds.hpp"
#include "tests/support/read_trace.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)

struct Row {
  std::uint64_t time = 0;
  std::uint64_t id = 0;
  std::uint64_t size = 0;
  std::uint64_t op = 1;
  std::int64_t next = -1;
};

// Rows of a third as many objects, each of one size.
std::vector<Row> rows_of(std::size_t count, std::uint64_t begin) {
  Random random(count);
  std::vector<Row> rows(count);
  for (Row& row : rows) {
    begin += random.below(3);
    row.time = begin;
    row.id = 1 + random.below(count / 3);
    row.size = 512 * (1 + row.id % 40);
    row.op = random.below(5) == 0 ? 3 : 1;
  }
  std::map<std::uint64_t, std::int64_t> later;
  for (std::size_t i = count; i-- > 0;) {
    const auto found = later.find(rows[i].id);
    if (found != later.end()) rows[i].next = found->second;
    later[rows[i].id] = static_cast<std::int64_t>(i) + 1;
  }
  return rows;
}

std::string record_of(const std::string& format, const Row& row) {
  if (format == "oracle-general") {
    return oracle_record(static_cast<std::uint32_t>(row.time), row.id,
                         static_cast<std::uint32_t>(row.size), row.next);
  }
  const auto time = static_cast<std::uint32_t>(row.time);
  const auto size = static_cast<std::uint32_t>(row.size);
  const auto op = static_cast<std::uint32_t>(row.op);
  if (format == "twr") return twr_record(time, row.id, 20, size, op);
  if (format == "twr-ns") return twr_ns_record(time, row.id, 20, size, op);
  if (format == "vscsi") {
    return vscsi_record({.command = row.op == 1 ? 0x28U : 0x2aU,
                         .bytes = row.size,
                         .sector = row.id * 8,
                         .time = row.time * 1'000'000});
  }
  if (format == "blktrace") {
    return blktrace_event({.time = row.time * 1'000'000'000, .sector = row.id * 8});
  }
  return libcachesim_record(
      format, {.time = row.time, .id = row.id, .size = row.size, .op = row.op, .next = row.next});
}

std::string file_of(const std::string& format, const std::vector<Row>& rows) {
  std::string bytes;
  for (const Row& row : rows) bytes += record_of(format, row);
  return bytes;
}

std::vector<std::string> record_formats() {
  std::vector<std::string> formats{"oracle-general", "twr", "twr-ns", "vscsi", "blktrace"};
  for (const auto& [format, bytes] : libcachesim_records()) {
    // Without times, or with the fields of oracle-akamai.
    if (format != "wiki16u" && format != "oracle-sim-twr-ns") formats.push_back(format);
  }
  return formats;
}

// Expects the format, or an error that names it or a record.
void expect_not_believed(const std::string& format, const std::string& bytes,
                         const std::string& what) {
  const std::string detected = detected_format(bytes);
  const bool is_error = detected.starts_with("F: ") && !detected.starts_with("F: no known");
  EXPECT_TRUE(detected == format || (is_error && detected.find(format) != std::string::npos))
      << format << ": " << what << ": " << detected;
}

TEST(Recognition, DamagedRecordsAreNoOtherFormat) {
  for (const std::string& format : record_formats()) {
    for (const auto& [count, begin] :
         {std::pair{std::size_t{16}, std::uint64_t{1000}},
          std::pair{std::size_t{1200}, std::uint64_t{1'600'000'000}}}) {
      const std::vector<Row> rows = rows_of(count, begin);
      const std::string bytes = file_of(format, rows);
      const std::size_t record = bytes.size() / count;
      EXPECT_EQ(detected_format(bytes), format) << count;
      for (const std::size_t at : {std::size_t{1}, std::size_t{4}, std::size_t{999}}) {
        if (at >= count) continue;
        std::vector<Row> back = rows;
        back[at].time = rows[at - 1].time - 100;
        expect_not_believed(format, file_of(format, back), fmt::format("back at {}", at));
      }
      std::vector<Row> sizes = rows;
      for (std::size_t i = 0; i < count; ++i) sizes[i].size = 512 * (1 + i * 7 % 90);
      expect_not_believed(format, file_of(format, sizes), "sizes change");
      expect_not_believed(format, bytes + bytes, "two files");
      expect_not_believed(format, bytes.substr(0, bytes.size() - 5), "cut");
      std::string foreign = bytes;
      for (std::size_t i = 0; i < record; ++i) {
        foreign[count / 2 * record + i] = static_cast<char>(i * 37 + 129);
      }
      if (count > 100) expect_not_believed(format, foreign, "a foreign record");
    }
  }
}

TEST(Recognition, OneTimeThatGoesBackIsSorted) {
  std::vector<Row> rows = rows_of(8, 100);
  rows[4].time = 7;
  const std::string bytes = file_of("oracle-general", rows);
  EXPECT_EQ(detected_format(bytes), "oracle-general");
  TraceReadOptions options;
  options.on_unsorted = OnUnsorted::kKeep;
  EXPECT_TRUE(read_good_trace("oracle-general", bytes, {}, options).unsorted);
}

TEST(Recognition, NextAccessesBeyondTheFileAreNoProof) {
  std::string bytes;
  for (std::uint64_t i = 0; i < 12; ++i) {
    bytes += libcachesim_record("standard-iii", {.time = 5 + i, .id = 1 + i % 3, .size = 64});
  }
  EXPECT_EQ(detected_format(bytes), "F: could be oracle-general or standard-iii; state the format");
}

TEST(Recognition, ObjectsThatChangeTheirSizesNeedAStatedFormat) {
  std::string bytes;
  for (std::uint64_t i = 0; i < 4; ++i) {
    bytes += libcachesim_record("standard-iqi", {.time = i, .id = i % 3, .size = 100 + i});
  }
  EXPECT_EQ(detected_format(bytes),
            "F: could be standard-iqi (its objects change their sizes); state the format");
}

TEST(Recognition, IntegersNameTheFormatsThatFailed) {
  const OwnFile own("integers");
  TraceBytes keys;
  for (const std::uint64_t key : {~4ULL, 7ULL, ~4ULL, 9ULL, 7ULL, ~4ULL}) keys.add_big(key, 8);
  std::ofstream(own.path(), std::ios::binary) << keys.bytes();
  const auto detected = detect_format(own.path());
  ASSERT_TRUE(detected.ok()) << detected.status();
  EXPECT_EQ(detected->name, "keys-u64-be");
  EXPECT_THAT(detected->note, StartsWith("read as integers, keys-u64-be, because no other format "
                                         "fits ("));
  EXPECT_THAT(detected->note, HasSubstr(" failed: record "));
}

// The magic number of a codec, with any one byte wrong, and data compressed twice.
TEST(Recognition, CompressedDataIsNoRecords) {
  const std::string content = file_of("standard-iqi", rows_of(64, 1));
  for (const auto& [name, codec] :
       {std::pair{"gzip", Codec::kGzip}, std::pair{"zstd", Codec::kZstd},
        std::pair{"xz", Codec::kXz}, std::pair{"bzip2", Codec::kBzip2}}) {
    const std::string packed = compress(codec, content);
    std::vector<std::string> files{compress(codec, packed)};
    const std::size_t magic = codec == Codec::kGzip ? 2 : 3;
    for (std::size_t i = 0; i < magic; ++i) {
      files.push_back(packed);
      files.back()[i] = static_cast<char>(files.back()[i] ^ 0x41);
    }
    for (const std::string& bytes : files) {
      for (const auto& format : formats().entries()) {
        const std::string stated = format.info.name;
        const TraceRead got = read_trace(stated, bytes, seed_params(stated));
        EXPECT_FALSE(got.status.ok()) << name << " as " << stated;
      }
      EXPECT_THAT(detected_format(bytes), HasSubstr(fmt::format("got {} data", name)));
    }
  }
  using namespace std::string_view_literals;
  for (const auto& [name, magic] :
       {std::pair{"lz4", "\x04\x22\x4d\x18"sv}, std::pair{"zip", "PK\x03\x04"sv},
        std::pair{"7z", "7z\xbc\xaf\x27\x1c"sv}}) {
    const std::string bytes = std::string(magic) + content;
    EXPECT_THAT(complaint_about("keys-u32-le", bytes), HasSubstr(fmt::format("got {} data", name)));
  }
}

}  // namespace
}  // namespace mcsim
