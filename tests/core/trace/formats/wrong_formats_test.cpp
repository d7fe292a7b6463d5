// Trusts: files of tests/data/cases have the formats of their names, and each change to a valid
// file makes it impossible in its format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/case_files.hpp"
#include "tests/support/format_seeds.hpp"
#include "tests/support/read_trace.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim {
namespace {

using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)
using ::testing::ContainsRegex;

const std::set<std::string>& binary_formats() {
  static const std::set<std::string> formats = [] {
    std::set<std::string> names{"oracle-general", "vscsi",       "lcs",         "twr",
                                "valpin",         "keys-u64-le", "keys-u64-be", "keys-u32-le",
                                "keys-u32-be",    "twr-ns",      "blktrace",    "binary"};
    for (const auto& [name, bytes] : libcachesim_records()) names.insert(name);
    return names;
  }();
  return formats;
}

// Formats of cases that are binary, or keys.
const std::map<std::string, std::set<std::string>> kFormatsOf{
    {"v1.vscsi", {"vscsi"}},
    {"v2.vscsi", {"vscsi"}},
    {"v1.lcs", {"lcs"}},
    {"keys.twr", {"twr"}},
    // The same integers have both names.
    {"keys.valpin", {"valpin", "keys-u64-le"}},
    {"keys_be64.trace", {"keys-u64-be"}},
    {"oracle.oracleGeneral.bin", {"oracle-general"}},
    {"mixed.oracleGeneral.bin", {"oracle-general"}},
    {"mixed_ids.txt", {"keys"}},
};

TEST(WrongFormats, AreDetectedNotBelieved) {
  const std::vector<std::string> files = case_files();
  ASSERT_GT(files.size(), 30U);
  for (const std::string& file : files) {
    const auto known = kFormatsOf.find(file);
    for (const auto& format : formats().entries()) {
      const std::string name = format.info.name;
      const bool is_own = known != kFormatsOf.end() && known->second.contains(name);
      const bool is_text_as_text = known == kFormatsOf.end() && !binary_formats().contains(name) &&
                                   name != "keys" && name != "arc";
      if (is_text_as_text) continue;  // text_formats_test.cpp
      const TraceRead got = read_trace(name, case_bytes(file));
      EXPECT_EQ(got.status.ok(), is_own) << file << " as " << name << ": " << got.status;
    }
  }
}

// A valid file, and what is wrong with it.
struct Damage {
  std::string what;
  std::string bytes;
};

// Cuts within the last record, at every byte.
void add_cuts(std::vector<Damage>& damages, const std::string& file, std::size_t record_bytes) {
  for (std::size_t missing = 1; missing < record_bytes; ++missing) {
    damages.push_back(
        {fmt::format("{} bytes missing", missing), file.substr(0, file.size() - missing)});
  }
}

// Files of other kinds, as far as there is a record in them.
void add_other_kinds(std::vector<Damage>& damages) {
  damages.push_back({"msr", "128166372003061629,web,0,Read,7014609920,24576,41286\n"});
  damages.push_back({"csv", "time_ns,op,offset,length\n1,read,0,4096\n2,write,4096,4096\n"});
  damages.push_back({"json", "{\"timestamp\": 27482, \"hash_ids\": [46, 47, 48, 49, 50]}\n"});
  damages.push_back({"words", "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\n"});
}

std::string reversed(std::string text) {
  std::ranges::reverse(text);
  return text;
}

void expect_errors(const std::string& format, const std::string& valid,
                   const std::vector<Damage>& damages) {
  const ParamMap params = seed_params(format);
  EXPECT_TRUE(read_good_trace(format, valid, params).status.ok()) << format;
  EXPECT_GE(damages.size(), 20U) << format;
  for (const Damage& damage : damages) {
    const TraceRead got = read_trace(format, damage.bytes, params);
    EXPECT_FALSE(got.status.ok()) << format << ": " << damage.what;
    EXPECT_THAT(message_of(got.status),
                ContainsRegex("^web.csv(:[0-9]+|: record [0-9]+|: header):"))
        << format << ": " << damage.what;
  }
}

TEST(DamagedFiles, OracleGeneral) {
  const std::string first = oracle_record(3, 7, 4096, 2);
  const std::string second = oracle_record(4, 9, 4096, -1);
  std::vector<Damage> damages;
  add_cuts(damages, first + second, first.size());
  add_other_kinds(damages);
  const auto add = [&](const char* what, const std::string& record) {
    damages.push_back({what, first + record});
  };
  add("big-endian", reversed(second));
  add("time goes back", oracle_record(2, 9, 4096, -1));
  add("next access is this one", oracle_record(4, 9, 4096, 1));
  add("next access is before", oracle_record(4, 9, 4096, 0));
  add("next access is negative", oracle_record(4, 9, 4096, -2));
  add("next access is too far", oracle_record(4, 9, 4096, 1LL << 40));
  add("size and next access swapped",
      TraceBytes().add(4, 4).add(9, 8).add(~0ULL, 8).add(4096, 4).bytes());
  add("one byte too many in front", std::string(1, '\x01') + second);
  expect_errors("oracle-general", first + second, damages);
}

TEST(DamagedFiles, Twr) {
  const std::string first = twr_record(299, 7, 100, 200, 1);
  const std::string second = twr_record(300, 9, 100, 200, 3);
  std::vector<Damage> damages;
  add_cuts(damages, first + second, first.size());
  add_other_kinds(damages);
  const auto add = [&](const char* what, const std::string& record) {
    damages.push_back({what, first + record});
  };
  add("big-endian", reversed(second));
  add("time goes back", twr_record(298, 9, 100, 200, 1));
  for (const std::uint32_t op : {12U, 13U, 14U, 15U, 128U, 254U}) {
    add("unknown operation", twr_record(300, 9, 100, 200, op));
  }
  add("operation and sizes swapped",
      TraceBytes().add(300, 4).add(9, 8).add(1U << 24, 4).add(100 << 22 | 200, 4).bytes());
  expect_errors("twr", first + second, damages);
}

TEST(DamagedFiles, TwrNs) {
  const std::string first = twr_ns_record(299, 7, 100, 200, 1);
  // The third byte of its time is no operation.
  const std::string second = twr_ns_record(300 + (0xab << 16), 9, 100, 200, 3);
  std::vector<Damage> damages;
  add_cuts(damages, first + second, first.size());
  add_other_kinds(damages);
  damages.push_back({"big-endian", first + reversed(second)});
  damages.push_back({"time goes back", second + first});
  damages.push_back({"unknown operation", first + twr_ns_record(300, 9, 100, 200, 12)});
  damages.push_back({"records of twr", twr_record(299, 7, 100, 200, 1) + first + first});
  expect_errors("twr-ns", first + second, damages);
}

// Files of other formats that show what they are.
void add_certain_formats(std::vector<Damage>& damages, const std::string& format) {
  for (const char* other : {"vscsi", "lcs", "oracle-general", "twr", "blktrace", "twr-ns",
                            "oracle-sys-twr-ns", "oracle-cf1", "oracle-wiki16u"}) {
    if (format != other) damages.push_back({other, format_seeds().at(other)});
  }
}

TEST(DamagedFiles, LibCacheSimRecords) {
  for (const auto& [format, record_bytes] : libcachesim_records()) {
    const bool has_time = !format.ends_with("wiki16u");
    const bool has_next = format.starts_with("oracle");
    const std::string valid = format_seeds().at(format);
    std::vector<Damage> damages;
    add_cuts(damages, valid, record_bytes);
    add_other_kinds(damages);
    add_certain_formats(damages, format);
    const auto add = [&, &name = format](const char* what, const LibCacheSimFields& fields) {
      damages.push_back({what, valid + libcachesim_record(name, fields)});
    };
    if (has_time) add("time goes back", {.time = 2, .id = 7});
    if (has_next) add("next access is before", {.time = 4, .id = 7, .next = 4});
    if (has_next) add("next access is negative", {.time = 4, .id = 7, .next = -2});
    if (has_next) add("next access is too far", {.time = 4, .id = 7, .next = 1LL << 40});
    if (format.ends_with("iqibh") || format.ends_with("ns")) {
      for (const std::uint64_t op : {15, 200, 254}) {
        if (!format.ends_with("sim-twr-ns")) add("operation", {.time = 4, .op = op});
      }
    }
    if (format.ends_with("cf1") || format.ends_with("iqq")) {
      add("size beyond 32 bits", {.time = 4, .size = 1ULL << 32});
    }
    expect_errors(format, valid, damages);
  }
}

TEST(DamagedFiles, Blktrace) {
  for (const bool is_big : {false, true}) {
    const auto event = [&](BlktraceFields fields) {
      fields.is_big = is_big;
      return blktrace_event(fields);
    };
    const std::string first = event({.time = 5, .data = "abc"});
    const std::string second = event({.time = 6, .data = "data of an event"});
    std::vector<Damage> damages;
    add_cuts(damages, first + second, second.size());
    add_other_kinds(damages);
    const auto add = [&](const char* what, const BlktraceFields& fields) {
      damages.push_back({what, first + event(fields)});
    };
    add("time goes back", {.time = 4});
    add("time beyond 63 bits", {.time = 1ULL << 63});
    add("sector beyond 64 bits", {.time = 6, .sector = 1ULL << 55});
    add("no whole sectors", {.time = 6, .bytes = 4097});
    for (const std::uint64_t number : {0, 18, 99, 0x200, 0xffff}) {
      add("unknown event", {.time = 6, .event = number});
    }
    add("unknown message", {.time = 6, .event = 3, .categories = 1 << 10});
    add("version 5", {.time = 6, .magic = 0x65617405});
    add("version 8", {.time = 6, .magic = 0x65617408});
    add("another magic number", {.time = 6, .magic = 0x65617507});
    damages.push_back({"other byte order", first + reversed(event({.time = 6}))});
    damages.push_back({"a byte too many", first + "x" + second});
    damages.push_back({"a byte too few", first.substr(0, first.size() - 1) + second});
    expect_errors("blktrace", first + second, damages);
  }
}

TEST(DamagedFiles, Binary) {
  const std::string valid = format_seeds().at("binary");
  std::vector<Damage> damages;
  add_cuts(damages, valid, 17);
  add_other_kinds(damages);
  const auto add = [&](const char* what, const LibCacheSimFields& fields, char op) {
    damages.push_back({what, valid + libcachesim_record("standard-iqi", fields) + op});
  };
  add("time goes back", {.time = 1}, '\1');
  for (const char op : {'\0', '\2', '\4', '\377'}) add("unknown operation", {.time = 9}, op);
  expect_errors("binary", valid, damages);
}

TEST(DamagedFiles, Vscsi) {
  for (const std::uint64_t version : {1, 2}) {
    const std::string first = vscsi_record({.time = 5, .version = version});
    const std::string second = vscsi_record({.sector = 8, .time = 6, .version = version});
    std::vector<Damage> damages;
    add_cuts(damages, first + second, first.size());
    add_other_kinds(damages);
    const auto add = [&](const char* what, VscsiFields fields) {
      fields.version = version;
      damages.push_back({what, first + vscsi_record(fields)});
    };
    for (const std::uint64_t command : {0x02, 0x2c, 0x40, 0xbf, 0x128, 0x2800, 0xffff}) {
      add("unknown command", {.command = command, .time = 6});
    }
    add("no whole sectors", {.bytes = 4097, .time = 6});
    add("sector beyond 64 bits", {.sector = 1ULL << 55, .time = 6});
    add("time beyond 64 bits", {.time = 1ULL << 54});
    add("time goes back", {.time = 4});
    damages.push_back({"big-endian", reversed(first)});
    damages.push_back({"a record of the other version",
                       first + vscsi_record({.time = 6, .version = 3 - version}) + first});
    std::string flipped = first;
    flipped[version == 1 ? 15 : 3] = '\x03';
    damages.push_back({"version 3", flipped});
    expect_errors("vscsi", first + second, damages);
  }
}

TEST(DamagedFiles, LcsHeaders) {
  const std::string records = lcs_record(3, {.time = 3, .next = 2}) + lcs_record(3, {.time = 4});
  const std::string header = lcs_header(3, 2);
  std::vector<Damage> damages;
  add_other_kinds(damages);
  for (std::size_t at = 0; at < 8; ++at) {
    for (const std::size_t from : {std::size_t{0}, std::size_t{8184}}) {
      std::string flipped = header + records;
      flipped[from + at] = static_cast<char>(flipped[from + at] ^ 1);
      damages.push_back({fmt::format("byte {} flipped", from + at), flipped});
    }
  }
  for (const std::size_t size : {8, 15, 16, 100, 8191}) {
    damages.push_back({"cut", header.substr(0, size)});
  }
  for (const std::uint64_t version : {0, 9, 255}) {
    damages.push_back({"version", lcs_header(version, 2) + records});
  }
  damages.push_back({"negative number of requests", lcs_header(3, ~0ULL) + records});
  damages.push_back({"more requests stated", lcs_header(3, 3) + records});
  damages.push_back({"fewer requests stated", lcs_header(3, 1) + records});
  const std::string record = TraceBytes().add(3, 4).add(7, 8).add(9, 4).bytes();
  const auto described = [&](const char* types, const char* positions, std::uint64_t bytes) {
    return Damage{types, lcs_described_header(types, positions, bytes, 1) + record};
  };
  damages.push_back(described("<IQx", "231000", 16));  // an unknown type
  damages.push_back(described("<IQI", "231000", 17));
  damages.push_back(described("<IQI", "831000", 16));  // a field that is missing
  damages.push_back(described("<IQI", "031000", 16));  // no id
  damages.push_back(described("<fQI", "231000", 16));  // a fraction as time
  expect_errors("lcs", header + records, damages);
}

TEST(DamagedFiles, LcsRecords) {
  for (std::uint64_t version = 1; version <= 8; ++version) {
    const std::string first = lcs_header(version, 2) + lcs_record(version, {.time = 3, .next = 2});
    const std::string second = lcs_record(version, {.time = 4});
    std::vector<Damage> damages;
    add_cuts(damages, first + second, second.size());
    const auto add = [&](const char* what, const LcsFields& fields) {
      damages.push_back({what, first + lcs_record(version, fields)});
    };
    add("time goes back", {.time = 2});
    add("next access is before", {.time = 4, .next = 1});
    add("next access is negative", {.time = 4, .next = -7});
    if (version > 1) add("unknown operation", {.time = 4, .op = 15});
    if (version > 2) add("negative size", {.time = 4, .size = -1});
    if (version > 2) add("size beyond 32 bits", {.time = 4, .size = 1LL << 32});
    expect_errors("lcs", first + second, damages);
  }
}

TEST(DamagedFiles, KeyIntegers) {
  TraceBytes little;
  TraceBytes big;
  for (const std::uint64_t key : {70'001, 70'005, 70'001, 70'009, 5, 6, 70'001, 5, 900, 70'002}) {
    little.add(key, 8), big.add_big(key, 8);
  }
  const auto damages_of = [&](unsigned bytes) {
    std::vector<Damage> damages;
    add_other_kinds(damages);
    for (std::size_t size = 1; size < bytes; ++size) {
      damages.push_back({"cut", little.bytes().substr(0, size)});
    }
    damages.push_back({"oracle", oracle_record(3, 7, 4096, 2) + oracle_record(4, 9, 4096, -1)});
    damages.push_back({"twr", twr_record(3, 7, 10, 200, 1) + twr_record(4, 9, 10, 200, 3)});
    damages.push_back({"lcs", lcs_header(1, 1) + lcs_record(1, {.time = 4})});
    for (const std::uint64_t version : {1, 2}) {
      const std::string record = vscsi_record({.time = 5, .version = version});
      damages.push_back({"vscsi", record + record});
    }
    return damages;
  };
  std::vector<Damage> damages = damages_of(8);
  add_cuts(damages, little.bytes(), 8);
  damages.push_back({"big-endian", big.bytes()});
  expect_errors("keys-u64-le", little.bytes(), damages);
  expect_errors("valpin", little.bytes(), damages);
  damages.back() = {"little-endian", little.bytes()};
  expect_errors("keys-u64-be", big.bytes(), damages);

  TraceBytes narrow;
  TraceBytes narrow_big;
  for (const std::uint64_t key : {70'001, 70'005, 70'001, 70'009, 5, 6, 70'001, 5, 900, 70'002}) {
    narrow.add(key, 4), narrow_big.add_big(key, 4);
  }
  damages = damages_of(4);
  add_cuts(damages, narrow.bytes(), 4);
  for (const std::string& wide : {little.bytes(), big.bytes()}) damages.push_back({"wide", wide});
  damages.push_back({"cut wide", little.bytes().substr(0, 76)});
  damages.push_back({"three bytes and a half", big.bytes().substr(0, 45)});
  damages.push_back({"order", narrow_big.bytes()});
  damages.push_back({"a header of text", "keys of a trace\n\n"});
  expect_errors("keys-u32-le", narrow.bytes(), damages);
}

TEST(DamagedFiles, Keys) {
  std::vector<Damage> damages;
  for (const char* line :
       {"1 2",     "1,2",   "1;2",          "1\t2",
        "1|2",     "{1}",   "\"1\"",        "# 1",
        "#",       "a b",   "a,",           ",",
        ";",       "|",     "\x01",         "a\x7f",
        "\xff",    "\xc3(", "{\"key\": 1}", "128166372003061629,web,0,Read,0,1,1",
        "1 1 0 0", "   "}) {
    damages.push_back({line, std::string("1\n2\n") + line + "\n"});
  }
  damages.push_back({"binary", oracle_record(3, 7, 4096, 2)});
  damages.push_back({"a NUL", std::string("1\n2\0\n", 5)});
  expect_errors("keys", "1\n2\n", damages);
}

TEST(DamagedFiles, Arc) {
  std::vector<Damage> damages;
  for (const char* line : {"1",
                           "1 1",
                           "1 1 0",
                           "1 1 0 0 0",
                           "-1 1 0 0",
                           "1 -1 0 0",
                           "1 1 -1 0",
                           "1 1 0 -1",
                           "1.5 1 0 0",
                           "a 1 0 0",
                           "1 b 0 0",
                           "1 1 c 0",
                           "1 1 0 d",
                           "1,1,0,0",
                           "1;1;0;0",
                           "99999999999999999999 1 0 0",
                           "1 1048576 0 0",
                           "4503599627370495 2 0 0",
                           "\"1 1 0 0",
                           "1 1 0 \"0",
                           "\x01 1 0 0",
                           "\xff",
                           "{\"a\": 1}"}) {
    damages.push_back({line, std::string("1 1 0 0\n2 1 0 1\n") + line + "\n"});
  }
  damages.push_back({"binary", oracle_record(3, 7, 4096, 2)});
  expect_errors("arc", "1 1 0 0\n2 1 0 1\n", damages);
}

}  // namespace
}  // namespace mcsim
