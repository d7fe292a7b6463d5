// Trusts: the results of an independent simulation of small files in each layout
// (tests/data/cases), and the values that each layout excludes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <absl/strings/str_join.h>
#include <absl/strings/str_split.h>

#include <filesystem>
#include <map>
#include <set>

#include "core/trace/formats/all.hpp"
#include "core/trace/formats/open_trace.hpp"
#include "tests/support/case_files.hpp"
#include "tests/support/format_seeds.hpp"
#include "tests/support/read_trace.hpp"

namespace mcsim {
namespace {

using namespace ::mcsim::testing;  // NOLINT(google-build-using-namespace)

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TraceRead read(const std::string& format, const std::string& bytes, const ParamMap& params = {}) {
  return read_trace(format, bytes, params, {.on_unsorted = OnUnsorted::kKeep});
}

// Requests, references, distinct blocks and hits of an unlimited cache.
struct Answers {
  int requests = 0;
  int accesses = 0;
  int blocks = 0;
  int hits = 0;
  friend bool operator==(const Answers&, const Answers&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Answers& a) {
    return out << a.requests << " / " << a.accesses << " / " << a.blocks << " / " << a.hits;
  }
};

// Simulates an unlimited cache for all operations, or for reads alone.
Answers simulate(const TraceRead& trace, bool reads_only, std::uint64_t block_bytes = 4096) {
  Answers answers;
  std::set<std::pair<VmId, std::uint64_t>> cached;
  std::set<std::pair<VmId, std::uint64_t>> seen;
  const Requests& requests = trace.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto op = static_cast<Op>(requests.op[i]);
    if (reads_only && op == Op::kWrite) continue;
    std::uint64_t first = requests.offset[i];
    std::uint64_t end = first + 1;
    if (trace.kind == TraceKind::kBlocks) {
      end = (first + requests.length[i] + block_bytes - 1) / block_bytes;
      first /= block_bytes;
    }
    answers.requests += op != Op::kDiscard;
    for (std::uint64_t block = first; block < end; ++block) {
      const std::pair key(requests.vm[i], block);
      if (op == Op::kDiscard) {
        cached.erase(key);
        continue;
      }
      ++answers.accesses;
      answers.hits += !cached.insert(key).second;
      seen.insert(key);
    }
  }
  answers.blocks = static_cast<int>(seen.size());
  return answers;
}

int count_of(const TraceRead& trace, Op op) {
  return static_cast<int>(std::ranges::count(trace.requests.op, static_cast<std::uint8_t>(op)));
}

struct Case {
  std::string file;
  std::string format;
  ParamMap params = {};
  std::optional<Answers> reads = {};
  std::optional<Answers> all = {};
  int discards = 0;
  Count flushes = 0;
  Count filtered = 0;
  Count repeated = 0;
  std::vector<std::string> vms = {};
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.file; }
};

const std::vector<Case>& cases() {
  static const ParamMap us{{"time_unit", "us"}};
  static const std::vector<Case> all{
      {.file = "umass.spc",
       .format = "spc",
       .reads = {{4, 4, 3, 1}},
       .all = {{7, 12, 9, 3}},
       .vms = {"0", "1", "2"}},
      {.file = "systor17.csv",
       .format = "systor17",
       .reads = {{3, 5, 4, 1}},
       .all = {{5, 8, 4, 4}},
       .filtered = 1,
       .vms = {"0", "4"}},
      {.file = "alibaba_io_traces.csv",
       .format = "alibaba",
       .reads = {{5, 207, 204, 3}},
       .all = {{6, 211, 208, 3}},
       .vms = {"3", "8", "5"}},
      {.file = "tencent_raw.csv",
       .format = "tencent",
       .reads = {{4, 66, 65, 1}},
       .all = {{5, 67, 65, 2}},
       .vms = {"21", "22", "23"}},
      {.file = "k5cloud.csv",
       .format = "k5cloud",
       .reads = {{3, 4, 3, 1}},
       .all = {{4, 5, 3, 2}},
       .vms = {"12", "13"}},
      {.file = "disksim.txt",
       .format = "disksim",
       .reads = {{2, 3, 2, 1}},
       .all = {{3, 4, 2, 2}},
       .vms = {"0"}},
      {.file = "camelab.txt",
       .format = "camelab",
       .reads = {{2, 3, 2, 1}},
       .all = {{3, 4, 2, 2}},
       .vms = {"web"}},
      {.file = "thesios.csv",
       .format = "thesios",
       .reads = {{3, 3, 2, 1}},
       .all = {{4, 5, 4, 1}},
       .vms = {"a1b2", "c3d4"}},
      {.file = "biosnoop.txt",
       .format = "biosnoop",
       .reads = {{2, 2, 1, 1}},
       .all = {{3, 4, 3, 1}},
       .vms = {"nvme0n1"}},
      {.file = "fio_v2.log",
       .format = "fio",
       .reads = {{2, 2, 2, 0}},
       .all = {{3, 6, 4, 1}},
       .discards = 1,
       .flushes = 1,
       .filtered = 4,
       .vms = {"/dev/sdx"}},
      {.file = "fio_v3.log",
       .format = "fio",
       .params = us,
       .reads = {{3, 9, 8, 1}},
       .all = {{4, 13, 8, 5}},
       .discards = 1,
       .flushes = 1,
       .filtered = 6,
       .vms = {"nvme1n1", "nvme2n1"}},
      {.file = "blkparse.txt",
       .format = "blkparse",
       .reads = {{2, 2, 1, 1}},
       .all = {{3, 4, 3, 1}},
       .discards = 1,
       .flushes = 1,
       .filtered = 18,
       .vms = {"8,0"}},
      {.file = "msr_overlap.csv", .format = "msr", .reads = {{2, 3, 2, 1}}, .vms = {"usr_0"}},
      {.file = "msr_header.csv",
       .format = "msr",
       .reads = {{2, 3, 2, 1}},
       .all = {{3, 4, 2, 2}},
       .vms = {"web_0"}},
      {.file = "meta_kvcache.csv",
       .format = "meta-kv",
       .reads = {{24, 24, 2, 21}},
       .all = {{26, 26, 3, 22}},
       .discards = 1,
       .repeated = 20,
       .vms = {"web"}},
      {.file = "twitter.csv",
       .format = "twitter",
       .all = {{5, 5, 2, 2}},
       .discards = 1,
       .vms = {"web"}},
      {.file = "ibm_object_store",
       .format = "ibm-object-store",
       .all = {{5, 5, 2, 2}},
       .discards = 1,
       .filtered = 1,
       .vms = {"web"}},
      {.file = "mooncake.jsonl", .format = "mooncake", .reads = {{12, 12, 7, 5}}, .vms = {"web"}},
      // S and L of 1ffefff2f8, L of 4222c5c and 4222c7e.
      {.file = "lackey.txt",
       .format = "lackey",
       .reads = {{3, 3, 2, 1}},
       .all = {{5, 5, 2, 3}},
       .filtered = 5,
       .vms = {"web"}},
      {.file = "strace.txt",
       .format = "strace",
       .reads = {{3, 3, 2, 1}},
       .all = {{4, 4, 2, 2}},
       .filtered = 2,
       .vms = {"/data/a.db"}},
      // Three times 32 blocks, 16 more; 32 of a write; the first 32 again.
      {.file = "tectonic.trace",
       .format = "tectonic",
       .reads = {{5, 144, 48, 96}},
       .all = {{6, 176, 80, 96}},
       .repeated = 2,
       .vms = {"0"}},
  };
  return all;
}

class TextFormats : public ::testing::TestWithParam<Case> {};

TEST_P(TextFormats, HaveTheAnswersOfAnotherSimulation) {
  const Case& expected = GetParam();
  const TraceRead got = read(expected.format, case_bytes(expected.file), expected.params);
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(simulate(got, true), expected.reads.value_or(simulate(got, true)));
  EXPECT_EQ(simulate(got, false), expected.all.value_or(simulate(got, false)));
  EXPECT_EQ(count_of(got, Op::kDiscard), expected.discards);
  EXPECT_EQ(got.rows.flushes, expected.flushes);
  EXPECT_EQ(got.rows.filtered, expected.filtered);
  EXPECT_EQ(got.rows.repeated, expected.repeated);
  EXPECT_EQ(got.vms, expected.vms);
}

TEST_P(TextFormats, AreRecognizedByNoOther) {
  const std::string bytes = case_bytes(GetParam().file);
  EXPECT_EQ(detected_format(bytes), GetParam().format);
  for (const Guess& guess : guess_all({.bytes = bytes, .whole = true})) {
    EXPECT_EQ(guess.fit == Fit::kCertain, guess.format == GetParam().format) << guess.format;
  }
}

std::set<std::string> text_formats() {
  std::set<std::string> names{"alibaba"};
  for (const Case& each : cases()) names.insert(each.format);
  names.insert({"cloudphysics", "fiu", "mqsim", "etw", "wikimedia", "wikibench", "tencent-photo"});
  return names;
}

TEST_P(TextFormats, AreRefusedUnderAnotherName) {
  for (const std::string& format : text_formats()) {
    if (format == GetParam().format) continue;
    const ParamMap params = format == "fio" ? ParamMap{{"time_unit", "us"}} : ParamMap{};
    const TraceRead got = read(format, case_bytes(GetParam().file), params);
    EXPECT_THAT(message_of(got.status),
                AllOf(ContainsRegex("^web.csv:[0-9]+: "), HasSubstr("column")))
        << format;
  }
}

// The name of a parametrised test.
template <class Param>
std::string test_name(const ::testing::TestParamInfo<Param>& test, std::string Param::* member) {
  std::string name = test.param.*member;
  std::ranges::replace_if(name, [](char c) { return !absl::ascii_isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, TextFormats, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test_name(test, &Case::file); });

TEST(TextFormatSeeds, AreRefusedUnderAnotherName) {
  // Times of DiskSim may be whole numbers.
  const std::set<std::pair<std::string, std::string>> allowed{{"mqsim", "disksim"}};
  for (const std::string& own : text_formats()) {
    for (const std::string& other : text_formats()) {
      if (own == other || allowed.contains({own, other})) continue;
      const TraceRead got = read(other, format_seeds().at(own), {});
      EXPECT_FALSE(got.status.ok()) << own << " as " << other;
    }
  }
}

TEST(RecordedTraces, AreRecognized) {
  const char* const folder = std::getenv("MCSIM_TRACE_DIR");
  if (folder == nullptr) GTEST_SKIP() << "MCSIM_TRACE_DIR is not set";
  const std::map<std::string, std::string> formats{
      {"arc/OLTP.lis.zst", "arc"},
      {"arc/P2.lis.zst", "arc"},
      {"arc/P3.lis.zst", "arc"},
      {"cloudphysics/cloudPhysicsIO.csv.zst", "cloudphysics"},
      {"cloudphysics/w106.lbn.txt.zst", "keys"},
      {"hp/hplajw_1week.csv.zst", "msr"},
      {"lirs/2_pools.txt.zst", "keys"},
      {"lirs/cs.txt.zst", "keys"},
      {"lirs/gli.txt.zst", "keys"},
      {"lirs/multi1.txt.zst", "keys"},
      {"lirs/multi2.txt.zst", "keys"},
      {"lirs/sprite.txt.zst", "keys"},
      {"misc/disksim.ssd-postmark-aligned2.trace.zst", "disksim"},
      {"misc/fiu_cheetah.first10000.csv.zst", "fiu"},
      {"misc/mqsim.tpcc-small.trace.zst", "mqsim"},
      {"misc/mqsim.wsrch-small.trace.zst", "mqsim"},
      {"msr/rsrch_1.csv.zst", "msr"},
      {"msr/wdev_1.csv.zst", "msr"},
      {"msr/wdev_3.csv.zst", "msr"},
      {"msr/web_3.csv.zst", "msr"},
      // Seconds in place of filetimes; tables of three columns without names.
      {"msr/web_0-3.first1000each.gwu.csv.zst", ""},
      {"tencent/tencentBlock.ns1326.sample.csv.zst", ""},
  };
  for (const auto& [file, format] : formats) {
    const std::string path = std::string(folder) + "/" + file;
    if (!std::filesystem::exists(path)) continue;
    const auto detected = detect_format(path);
    EXPECT_EQ(detected.ok() ? detected->name : "", format) << file << detected.status();
  }
}

// A valid file, and what stands in the columns of its last line: t a time, n a number of blocks or
// bytes, o an operation, v a VM, k a key, - a column that is not used.
struct Sample {
  std::string format;
  std::string before;
  std::string line;
  char delimiter = ',';
  std::string columns;
  std::string wrong_operation = "X";
  bool allows_more = false;
  ParamMap params = {};
  friend std::ostream& operator<<(std::ostream& out, const Sample& s) { return out << s.format; }
};

const std::vector<Sample>& samples() {
  static const ParamMap us{{"time_unit", "us"}};
  static const std::string thesios = case_bytes("thesios.csv");
  static const std::string thesios_header = thesios.substr(0, thesios.find('\n') + 1);
  static const std::vector<Sample> all{
      {"alibaba", "3,W,0,4096,1\n", "3,W,8192,16384,1577894544360767", ',', "vonnt"},
      {"tencent", "1,8,8,0,21\n", "1538409600,12918952,128,0,21", ',', "tnnov", "2"},
      {"cloudphysics", "version,time,op,size,lbn\n", "1,5633898368802,2a,512,42932745", ',',
       "-tonn", "2x"},
      {"systor17", "1.5,0.1,W,0,0,512\n", "1456135200.013,0.001,W,0,4096,4096", ',', "ttovnn"},
      {"spc", "0,1000,8192,W,0.5\n", "0,1016,4096,r,0.554", ',', "vnnot", "Read", true},
      {"fiu", "1 4257 nfsd 8 8 W 6 0 2c47\n", "2 4253 nfsd 488846200 8 R 6 0 2c47", ' ',
       "t--nno---"},
      {"msr", "128166372003061629,usr,0,Read,0,4096,1\n",
       "128166372013061629,usr,0,Write,512,4096,1000", ',', "tvvonnt", "W"},
      {"k5cloud", "12,1.5,W,0,512\n", "12,1538323200.1,R,4096,8192", ',', "vtonn"},
      {"thesios", thesios_header,
       "a1b2,0,app1,17.1,WARM,REPLICATED,READ,OTHER,0,-1,4096,4096,4096,1700000100.5,0.0,17.5,0.4",
       ',', "vn----o---n--t--t", "GET"},
      {"disksim", "0.5 0 8 8 1\n", "7961.833 0 20228336 8 0", ' ', "tvnno", "9"},
      {"mqsim", "1 0 8 8 1\n", "11413000 0 657728 16 1", ' ', "tvnno", "2"},
      {"camelab", "0.0001 R 0 8 0.1\n", "0.000200 W 1008 8 0.1", ' ', "tonn-"},
      {"blkparse", "8,0 1 1 0.0 661 Q R 0 + 8 [fio]\n",
       "8,0 1 2 0.000001000 661 Q WS 1000 + 8 [fio]", ' ', "vnntn-on-n-"},
      {"biosnoop", "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n",
       "0.100000 fio 31 nvme0n1 W 2000 8192 0.60", ' ', "t--vonnt"},
      {"fio", "fio version 3 iolog\n1 sdx add\n", "878 sdx write 0 16384", ' ', "tvonn", "erase",
       false, us},
      {"twitter", "0,k,1,213,4,get,0\n", "1,user:17:profile,15,213,4,set,86400", ',', "tknn-o-",
       "GOT"},
      {"meta-kv", "key,op,size,op_count,key_size\n", "1668757755,SET,82,1,40", ',', "konnn", "GOT"},
      {"ibm-object-store", "0 REST.PUT.OBJECT a1 1056\n", "103 REST.GET.OBJECT a1b2 1056 0 1055",
       ' ', "tokn--", "REST.LIST.BUCKET"},
      {"tectonic", "# block_id\n1 0 512 1.5 1 10 20 0 3 7\n",
       "123 131072 65536 1600000000.7 2 10 20 0 1 7", ' ', "nnnto--vn-", "7"},
      {"etw", "BeginHeader\nEndHeader\nDiskRead,1,a,1,0x1,0x0,0x200,5,0\n",
       "DiskWrite,1234567,System (   4),1234,0xfffffa80,0x02f3e5a000,0x00001000,312,0", ',',
       "ot---nntv", "7", true},
      {"wikimedia",
       "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n"
       "0\t1\tpng\t5\t0.1\n",
       "864000\t-889152392\tjpeg\t17446\t1.88E-4", '\t', "tk-nt"},
      {"wikibench", "1 0.5 http://a -\n", "2 1190146243.303 http://b save", ' ', "-tko"},
      {"tencent-photo", "20160201164559 1f5c 0 l 33136 1 PHONE 0\n",
       "20160201164600 1f5c 5 a 3263749 0 PC 12", ' ', "tk-onn-t", "1"},
  };
  return all;
}

// Files in which the last line is damaged.
std::vector<std::string> damaged(const Sample& sample) {
  const std::vector<std::string> good = absl::StrSplit(sample.line, sample.delimiter);
  std::vector<std::string> lines;
  const auto add = [&](const std::vector<std::string>& fields, char delimiter) {
    lines.push_back(absl::StrJoin(fields, std::string(1, delimiter)));
  };
  const auto set = [&](std::size_t column, const std::string& value) {
    std::vector<std::string> fields = good;
    fields[column] = value;
    add(fields, sample.delimiter);
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    const char kind = sample.columns[i];
    if (kind == 't' || kind == 'n') {
      for (const char* value :
           {"99999999999999999999999", "0xZZ", "12a", "1.5.2", "NaN", "1e400"}) {
        set(i, value);
      }
      set(i, std::string("1\0", 2));
    }
    if (kind == 'n') set(i, "-1"), set(i, "0.5");
    if (kind == 'o') set(i, sample.wrong_operation), set(i, "\x80\xff"), set(i, "0x");
    if (kind == 'v' || kind == 'k') set(i, "\"open"), set(i, std::string("a\0b", 3));
  }
  const std::size_t op = sample.columns.find('o');
  std::vector<std::string> fields = good;
  fields.erase(fields.begin());
  add(fields, sample.delimiter);  // without the first column
  fields = good;
  fields.insert(fields.begin(), "x");
  add(fields, sample.delimiter);
  fields = good;
  if (op != std::string::npos) {
    std::swap(fields[op], fields[op == 0 ? 1 : op - 1]);
    add(fields, sample.delimiter);
  }
  fields = good;
  if (!sample.allows_more) fields.push_back("extra"), add(fields, sample.delimiter);
  add(good, ';');
  add(good, '|');
  lines.push_back(sample.line.substr(0, sample.line.find(sample.delimiter)));
  lines.push_back(
      std::string("\x7f"
                  "ELF\0\1\2",
                  7));
  lines.push_back("<html>");
  lines.push_back("{\"a\": 1}");
  return lines;
}

class DamagedFiles : public ::testing::TestWithParam<Sample> {};

TEST_P(DamagedFiles, AreRefusedWithLineAndColumn) {
  const Sample& sample = GetParam();
  const TraceRead good = read(sample.format, sample.before + sample.line, sample.params);
  ASSERT_TRUE(good.status.ok()) << good.status;
  const std::vector<std::string> lines = damaged(sample);
  EXPECT_GE(lines.size(), 20u);
  const auto place =
      "^web.csv:" + std::to_string(std::ranges::count(sample.before, '\n') + 1) + ": ";
  for (const std::string& line : lines) {
    const TraceRead got = read(sample.format, sample.before + line + "\n", sample.params);
    EXPECT_THAT(message_of(got.status), AllOf(ContainsRegex(place), HasSubstr("column"))) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, DamagedFiles, ::testing::ValuesIn(samples()),
                         [](const auto& test) { return test_name(test, &Sample::format); });

// The last of lines is damaged.
void expect_refused(const std::string& format, const std::string& good,
                    const std::vector<std::string>& lines) {
  ASSERT_TRUE(read(format, good).status.ok()) << format;
  EXPECT_GE(lines.size(), 20u);
  const auto place = "^web.csv:" + std::to_string(std::ranges::count(good, '\n') + 1) + ": ";
  for (const std::string& line : lines) {
    EXPECT_THAT(message_of(read(format, good + line + "\n").status),
                AllOf(ContainsRegex(place), HasSubstr("column")))
        << line;
  }
}

TEST(DamagedLackey, IsRefusedWithLineAndColumn) {
  expect_refused("lackey", " L 04222c5c,4\n",
                 {" L",
                  " X 04222c5c,4",
                  " l 04222c5c,4",
                  " L 04222c5c",
                  " L 04222c5c,",
                  " L ,4",
                  " L 04222c5c,0",
                  " L 04222c5c,-4",
                  " L -04222c5c,4",
                  " L 04222c5c,4a",
                  " L 04222c5g,4",
                  " L 0x04222c5c,4",
                  " L 04222c5c;4",
                  " L 04222c5c 4",
                  " L 04222c5c,4 5",
                  " L 04222c5c,4,5",
                  " L 04222c5c,4294967296",
                  " L 10000000000000000,4",
                  " L ffffffffffffffff,2",
                  "L,04222c5c,4",
                  "I 04222c5c",
                  " SB 04222c5c 4",
                  " \"L 04222c5c,4",
                  "ELF",
                  "{\"a\": 1}"});
}

TEST(DamagedStrace, IsRefusedWithLineAndColumn) {
  const std::string good = "7 1.6 pread64(3</b>, \"\", 8, 0) = 8\n";
  expect_refused("strace", good,
                 {"7",
                  "7 2.0",
                  "x 2.0 close(3) = 0",
                  "-7 2.0 close(3) = 0",
                  "[pid x] 2.0 close(3) = 0",
                  "7 12:00:00.5 close(3) = 0",
                  "7 2.0.1 close(3) = 0",
                  "7 99999999999.0 close(3) = 0",
                  "7 2.0 close",
                  "7 2.0 close(3)",
                  "7 2.0 close(3) 0",
                  "7 2.0 close(3) = ",
                  "7 2.0 close(3) = x",
                  "7 2.0 \"close(3) = 0",
                  "7 \"2.0\" close(3) = 0",
                  "7 2.0 close(3 = 0",
                  "7 2.0 (3) = 0",
                  "7 2.0 clo se(3) = 0",
                  "7 2.0 read(3</b>, \"\", 8 = 8",
                  "7 2.0 read(3</b>, \"\", 8) = 8",  // no position
                  "7 2.0 read(9, \"\", 8) = 8",      // no path
                  "7 2.0 pread64(3</b>, \"\", 8) = 8",
                  "7 2.0 pread64(3</b>, \"\", 8, x) = 8",
                  "7 2.0 pread64(3</b>, \"\", 8, -2) = 8",
                  "7 2.0 pread64(3</b>, \"\", 8, 0) = 4294967296",
                  "7 2.0 pread64(3</b>, \"\", 8, 9223372036854775807) = 8",
                  "7 2.0 <... read>",
                  "ELF"});
}

TEST(DamagedJson, IsRefusedWithLineAndColumn) {
  const std::string good = "{\"timestamp\": 0, \"hash_ids\": [0, 1]}\n";
  for (const char* line : {
           "{\"timestamp\": 1}",
           "{\"hash_ids\": [1]}",
           "{\"timestamp\": 1, \"hash_ids\": [1]",
           "{\"timestamp\": 1, \"hash_ids\": [1}",
           "{\"timestamp\": 1, \"hash_ids\": [1,]}",
           "{\"timestamp\": 1, \"hash_ids\": [1 2]}",
           "{\"timestamp\": 1, \"hash_ids\": [[1]]}",
           "{\"timestamp\": 1, \"hash_ids\": [{}]}",
           "{\"timestamp\": 1, \"hash_ids\": {}}",
           "{\"timestamp\": 1, \"hash_ids\": [\"a]}",
           "{\"timestamp\": 1, \"hash_ids\": [\"a\tb\"]}",
           "{\"timestamp\": 1, \"hash_ids\": [01]}",
           "{\"timestamp\": 1, \"hash_ids\": [0x1]}",
           "{\"timestamp\": 1, \"hash_ids\": null}",
           "{\"timestamp\": \"x\", \"hash_ids\": [1]}",
           "{\"timestamp\": [1], \"hash_ids\": [1]}",
           "{\"timestamp\": 99999999999999999999, \"hash_ids\": [1]}",
           "{\"timestamp\": 1 \"hash_ids\": [1]}",
           "{\"timestamp\" 1, \"hash_ids\": [1]}",
           "{timestamp: 1, \"hash_ids\": [1]}",
           "{\"timestamp\": 1, \"hash_ids\": [1]} 2",
           "{\"timestamp\": 1; \"hash_ids\": [1]}",
           "[1, 2]",
           "1,2",
           "\x7f"
           "ELF",
       }) {
    EXPECT_THAT(message_of(read("mooncake", good + line + "\n").status),
                AllOf(ContainsRegex("^web.csv:2: "), ContainsRegex("column|field")))
        << line;
  }
}

TEST(Fio, TimesOfVersion3NeedAUnit) {
  EXPECT_EQ(complaint_about("fio", case_bytes("fio_v3.log")),
            "web.csv:1: time_unit: state it (us as fio writes it, ns, ms or s; in commands "
            "--option time_unit=us); version 3 of the log has no fixed unit");
  const auto us = read("fio", case_bytes("fio_v3.log"), {{"time_unit", std::string("us")}});
  EXPECT_EQ(us.requests.time.front(), 878'000);
}

TEST(Lackey, InstructionsCanBeReads) {
  const auto got = read("lackey", case_bytes("lackey.txt"), {{"instructions", true}});
  EXPECT_EQ(simulate(got, false), (Answers{7, 7, 2, 5}));
  EXPECT_EQ(got.rows.filtered, 3);
  EXPECT_EQ(got.requests.offset.front(), 0x4222c44U);
  EXPECT_EQ(got.requests.length.front(), 3U);
  EXPECT_EQ(got.time_base, TimeBase::kIndex);
}

// Offsets of requests, in their order.
std::vector<std::uint64_t> offsets_of(const std::string& format, const std::string& bytes) {
  const auto got = read(format, bytes);
  EXPECT_TRUE(got.status.ok()) << got.status;
  return got.requests.offset;
}

TEST(Strace, ReadsContinueAtThePositionOfTheFile) {
  const std::string opened = "1.0 openat(AT_FDCWD, \"/a\", O_RDWR) = 3\n";
  EXPECT_EQ(
      offsets_of("strace", opened + "1.1 read(3, \"\"..., 100) = 100\n1.2 write(3, \"\", 9) = 8\n"
                                    "1.3 pread64(3, \"\", 4, 4096) = 4\n"
                                    "1.4 lseek(3, 512, SEEK_SET) = 512\n"
                                    "1.5 dup(3) = 5\n1.6 readv(5, [{iov_base=\"a)\", iov_len=2}, "
                                    "{iov_base=\"\\\"\", iov_len=2}], 2) = 4\n"
                                    "1.7 read(3, \"\", 9) = 0\n1.8 read(3, \"\", 9) = 9\n"
                                    "1.9 preadv2(3, [], 0, -1, 0) = 1\n"),
      (std::vector<std::uint64_t>{0, 100, 4096, 512, 516, 525}));
  // Another file has the descriptor.
  EXPECT_EQ(offsets_of("strace", opened + "1.1 read(3, \"\", 9) = 9\n1.2 close(3) = 0\n" + opened +
                                     "1.3 read(3, \"\", 9) = 9\n"),
            (std::vector<std::uint64_t>{0, 0}));
}

TEST(Strace, ProcessesShareOpenFiles) {
  // A thread shares descriptors, and a child copies them. Both share positions.
  const std::string opened = "7 1.0 openat(AT_FDCWD, \"/a\", O_RDWR) = 3\n";
  const std::string thread = "7 1.1 clone(flags=CLONE_VM|CLONE_FILES) = 8\n";
  const std::string child = "7 1.1 clone(flags=SIGCHLD) = 8\n";
  const std::string reads = "8 1.2 read(3, \"\", 9) = 9\n7 1.3 read(3, \"\", 9) = 9\n";
  for (const std::string& clone : {thread, child}) {
    EXPECT_EQ(offsets_of("strace", opened + clone + reads), (std::vector<std::uint64_t>{0, 9}));
  }
  const std::string closed = "8 1.2 close(3) = 0\n7 1.3 read(3, \"\", 9) = 9\n";
  EXPECT_EQ(offsets_of("strace", opened + child + closed).size(), 1U);
  EXPECT_FALSE(read("strace", opened + thread + closed).status.ok());
  // The child runs first.
  EXPECT_EQ(
      offsets_of("strace", opened + "7 1.1 vfork( <unfinished ...>\n8 1.2 read(3, \"\", 9) = 9\n"
                                    "7 1.3 <... vfork resumed>) = 8\n7 1.4 read(3, \"\", 9) = 9\n"),
      (std::vector<std::uint64_t>{0, 9}));
  // Another process has a file of its own.
  EXPECT_FALSE(read("strace", opened + "9 1.1 read(3, \"\", 9) = 9\n").status.ok());
}

TEST(Strace, UnfinishedCallsEndInAnotherLine) {
  const auto got = read("strace",
                        "[pid 7] 1.0 pread64(3</a,b (c)>, <unfinished ...>\n"
                        "[pid 8] 1.1 pread64(3</b>, \"\", 9, 512) = 9 <0.000250>\n"
                        "[pid 9] 1.2 <... read resumed>\"\", 9) = 9\n"
                        "[pid 7] 1.3 <... pread64 resumed>\"\", 9, 1024) = 9 <0.300000>\n");
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(got.vms, (std::vector<std::string>{"/b", "/a,b (c)"}));
  EXPECT_EQ(got.requests.offset, (std::vector<std::uint64_t>{512, 1024}));
  EXPECT_EQ(got.requests.response, (std::vector<Nanoseconds>{250'000, 300'000'000}));
  EXPECT_EQ(got.requests.time, (std::vector<Nanoseconds>{1'100'000'000, 1'000'000'000}));
  EXPECT_EQ(got.rows.filtered, 1);
}

TEST(Strace, LinesGoOnBehindANoticeOfAProcess) {
  const auto got = read("strace",
                        "strace: Process 8 attached\n"
                        "1.0 pread64(3</a>, strace: Process 9 attached\n <unfinished ...>\n"
                        "[pid 9] 1.1 pread64(3</a>, strace: Process 8 detached\n\"\", 9, 0) = 9\n"
                        "1.2 <... pread64 resumed>\"\", 9, 512) = 9\n");
  ASSERT_TRUE(got.status.ok()) << got.status;
  EXPECT_EQ(got.requests.offset, (std::vector<std::uint64_t>{0, 512}));
  EXPECT_EQ(got.rows.filtered, 3);
}

TEST(Strace, CallsOnOtherThanFilesAreFiltered) {
  const auto got =
      read("strace",
           "1.0 write(1, \"x\", 1) = 1\n1.1 write(2</dev/pts/0>, \"x\", 1) = 1\n"
           "1.2 read(5<socket:[77]>, \"x\", 1) = 1\n1.3 read(6<pipe:[8]>, \"\", 1) = 1\n"
           "1.4 read(7</proc/stat>, \"x\", 1) = 1\n1.5 read(8</a>, 0x7, 9) = ? "
           "ERESTARTSYS (To be restarted)\n1.6 --- SIGCHLD {si_signo=SIGCHLD} ---\n"
           "1.7 write(9</dev/null<char 1:3>>, \"x\", 1) = 1\n"
           "1.8 pread64(3</a>, \"\", 8, 0) = 8\n1.9 fdatasync(3</a>) = 0\n"
           "2.0 exit_group(0) = ?\n2.1 +++ exited with 0 +++\n");
  EXPECT_EQ(simulate(got, false), (Answers{1, 1, 1, 0}));
  EXPECT_EQ(got.rows.filtered, 10);
  EXPECT_EQ(got.rows.flushes, 1);
}

TEST(Tectonic, BlocksAreApart) {
  const std::string rows = "5 4096 512 1 1 10 20 0 1 7\n5 4096 512 2 1 10 20 1 1 7\n";
  const auto got = read("tectonic", rows);
  EXPECT_EQ(got.requests.offset,
            (std::vector<std::uint64_t>{5 * 8388608 + 4096, 5 * 8388608 + 4096}));
  EXPECT_EQ(got.vms, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(
      read("tectonic", rows, {{"block_bytes", std::int64_t{1} << 20}}).requests.offset.front(),
      5U * 1048576 + 4096);
  EXPECT_THAT(
      complaint_about("tectonic", "5 8388096 1024 1 1 10 20 0 1 7\n"),
      HasSubstr("expected an io_size within block_bytes (8388608) in column 3, got '1024'"));
}

TEST(Tectonic, OlderTracesHaveFewerColumns) {
  const auto of_2021 = read("tectonic", "5 0 512 1 1 10 20 7 2\n5 0 512 1 100 10 20 7 2\n");
  EXPECT_EQ(of_2021.vms, (std::vector<std::string>{"7"}));
  EXPECT_EQ(of_2021.rows.repeated, 1);
  EXPECT_EQ(of_2021.rows.filtered, 1);
  const auto of_2019 = read("tectonic", "5 0 512 1.5 4 99 10 20\n");
  EXPECT_EQ(of_2019.vms, (std::vector<std::string>{"web"}));
  EXPECT_EQ(count_of(of_2019, Op::kWrite), 1);
}

TEST(Wikimedia, PagesAndImagesHaveKeysAndSizes) {
  const auto pages = read("wikimedia", format_seeds().at("wikimedia"));
  EXPECT_EQ(pages.requests.length, (std::vector<std::uint32_t>{20546, 17446}));
  EXPECT_EQ(pages.requests.response, (std::vector<Nanoseconds>{280'000, 100'000'000}));
  EXPECT_EQ(pages.keys, (std::vector<std::string>{"1714473446", "-889152392"}));
  const auto images =
      read("wikimedia",
           "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n"
           "5\t-1\tjpeg\t7\t1.2e+1\n5\t-1\tjpeg\t7\t0\n");
  EXPECT_EQ(simulate(images, true), (Answers{2, 2, 1, 1}));
  EXPECT_EQ(images.requests.response.front(), 12 * kSecond);
  EXPECT_EQ(images.requests.time.front(), 5 * kSecond);
}

TEST(Wikibench, LaterTracesHaveDates) {
  const auto got = read("wikibench", "1 1970-01-01T00:00:01.63 http://a/b -\n");
  EXPECT_EQ(got.requests.time, (std::vector<Nanoseconds>{1'630'000'000}));
  EXPECT_EQ(count_of(read("wikibench", format_seeds().at("wikibench")), Op::kWrite), 1);
}

TEST(Etw, OtherEventsAreFiltered) {
  const auto got = read("etw",
                        "BeginHeader\n DiskRead, TimeStamp\nEndHeader\nOS Version: 6.0, Start: 1\n"
                        " DiskReadInit, 9, a ( 4), 1, 0xff\n DiskFlush, 9, a ( 4), 1, 0xff, 12, 0\n"
                        " DiskRead, 10, a ( 4), 1, 0xff, 0x1000, 0x200, 30, 2, 0x43, 30, Normal\n");
  EXPECT_EQ(simulate(got, true), (Answers{1, 1, 1, 0}));
  EXPECT_EQ(got.rows.filtered, 2);
  EXPECT_EQ(got.rows.flushes, 1);
  EXPECT_EQ(got.requests.offset.front(), 0x1000U);
  EXPECT_EQ(got.requests.response.front(), 30'000);
  EXPECT_EQ(got.vms, (std::vector<std::string>{"2"}));
}

TEST(TencentPhoto, AFormatOfAPhotoIsAnObject) {
  const auto got = read("tencent-photo",
                        "19700101000001 ab 0 l 5 1 PC 3\n19700101000002 ab 5 l 6 1 PC 3\n"
                        "19700101000002 ab 5 l 6 1 PHONE 0\n");
  EXPECT_EQ(simulate(got, true), (Answers{3, 3, 2, 1}));
  EXPECT_EQ(got.requests.time.front(), kSecond);
  EXPECT_EQ(got.requests.response.front(), 3'000'000);
}

TEST(Blkparse, AnotherEventIsARequest) {
  const auto completed =
      read("blkparse", case_bytes("blkparse.txt"), {{"event", std::string("C")}});
  EXPECT_EQ(simulate(completed, false), (Answers{3, 4, 3, 1}));
  EXPECT_EQ(completed.requests.time.front(), 110'000);
  EXPECT_EQ(completed.rows.flushes, 0);
}

TEST(Blkparse, EventsOfOneKindAreRecognised) {
  for (const char event : {'Q', 'D', 'C'}) {
    const std::string end = event == 'C' ? "[0]" : "[app]";
    const std::string text = fmt::format(
        "  8,0    0        1   0.100000000   700  {0}   W 80 + 8 {1}\n"
        "  8,0    0        2   0.200000000   700  {0}   R 80 + 8 {1}\n",
        event, end);
    EXPECT_EQ(detected_format(text), "blkparse");
    const auto got = read("blkparse", text, {{"event", std::string(1, event)}});
    EXPECT_EQ(simulate(got, false), (Answers{2, 2, 1, 1}));
    if (event == 'Q') continue;
    EXPECT_EQ(message_of(read_trace("blkparse", text).status),
              fmt::format("web.csv: there are no requests in it (2 rows filtered); event={} reads "
                          "others",
                          event));
  }
}

// The F in front, alone, with nothing (N), or before the data.
TEST(Blkparse, EveryFInFrontIsAFlush) {
  const auto got = read("blkparse",
                        "  8,0    0        1   0.100000000   700  Q FWFS 80 + 8 [app]\n"
                        "  8,0    0        2   0.200000000   700  Q   R 80 + 8 [app]\n"
                        "  8,0    0        3   0.300000000   700  Q  FN [app]\n"
                        "  8,0    0        4   0.400000000   700  Q FWS [app]\n"
                        "  8,0    0        5   0.500000000   700  Q   N [app]\n"
                        "  8,0    0        6   0.600000000   700  Q  WF 160 + 8 [app]\n");
  EXPECT_EQ(simulate(got, false), (Answers{3, 3, 2, 1}));
  EXPECT_EQ(got.rows.flushes, 3);
  EXPECT_EQ(got.rows.filtered, 1);
}

TEST(Biosnoop, EveryFInFrontIsAFlush) {
  const auto got = read("biosnoop",
                        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"
                        "0.0 fio 2501 sda FW 1000 4096 0.17\n0.1 a b 31 sda FN 0 0 0.60\n");
  EXPECT_EQ(got.requests.size(), 1U);
  EXPECT_EQ(got.rows.flushes, 2);
}

// The layouts of the events in include/trace/events/block.h of Linux, of several versions.
TEST(Perf, BlockEventsAreRequests) {
  const std::string text =
      "fio  700 [001]  1234.500000001: block:block_bio_queue: 8,0 W 80 + 8 [fio]\n"
      "fio  700 [001]  1234.500000002: block:block_rq_issue: 8,0 W 4096 () 80 + 8 [fio]\n"
      "kworker/u8:1 H  9/9  1234.6:  block:block_rq_issue: 259,1 RA 4096 () 160 + 8 none,0,0 [x "
      "y]\n"
      "fio  700 [001]  1234.7: block:block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [fio]\n"
      "fio  700 [001]  1234.8: block:block_rq_issue: 8,0 FWFS 4096 () 80 + 8 [fio]\n"
      "fio  700 [001]  1234.9: block:block_rq_issue: 8,0 D 4096 () 80 + 8 [fio]\n"
      "swapper 0 [001]  1235.0: block:block_rq_complete: 8,0 W () 80 + 8 [0]\n";
  EXPECT_EQ(detected_format(text), "perf");
  const auto got = read("perf", text);
  EXPECT_EQ(got.requests.op, (std::vector<std::uint8_t>{1, 0, 1, 2}));
  EXPECT_EQ(got.requests.offset, (std::vector<std::uint64_t>{40'960, 81'920, 40'960, 40'960}));
  EXPECT_EQ(got.requests.time.front(), 1'234'500'000'002);
  EXPECT_EQ(got.vms, (std::vector<std::string>{"8,0", "259,1"}));
  EXPECT_EQ(got.rows.flushes, 2);
  EXPECT_EQ(got.rows.filtered, 2);
  EXPECT_EQ(read("perf", text, {{"event", std::string("Q")}}).requests.size(), 1U);
  EXPECT_EQ(read("perf", text, {{"event", std::string("C")}}).requests.size(), 1U);
}

TEST(Rocksdb, LookupsAreReadsOfObjects) {
  const std::string text =
      "1600000000000000,7,9,4096,0,default,2,8,1,0,0,0,0,1,1,10,3,1,20,16,0\n"
      "1600000000000001,8,7,0,1,meta,2,8,1,0,0,0,0,0,0,0,3,2,20,0,4096\n"
      "1600000000000001,7,9,4096,0,default,2,8,1,0,0,0,0,1,1,10,3,3,20,16,0\n";
  EXPECT_EQ(detected_format(text), "rocksdb");
  EXPECT_EQ(simulate(read("rocksdb", text), false), (Answers{3, 3, 2, 1}));
}

TEST(Iotrace, FieldsThatAreLeftOutAreZero) {
  const std::string device = "\"device\":{\"id\":\"8\",\"name\":\"sda\"}}\n";
  const std::string text =
      "{\"header\":{\"sid\":\"0\",\"timestamp\":\"5\"},\"deviceDescription\":{\"name\":\"sda\"}}\n"
      "{\"header\":{\"timestamp\":\"7\"},\"io\":{\"lba\":\"80\",\"len\":8,\"operation\":\"Write\"}"
      "," +
      device +
      "{\"header\":{\"timestamp\":\"8\"},\"io\":{\"operation\":\"Write\",\"flush\":true}," +
      device + "{\"header\":{\"timestamp\":9},\"io\":{\"lba\":80,\"len\":\"8\"}," + device +
      "{\"header\":{\"timestamp\":\"10\"},\"io\":{\"len\":8}," + device +
      "{\"header\":{\"timestamp\":\"11\"},\"io\":{\"len\":8,\"operation\":\"Discard\"}," + device +
      "{\"header\":{\"timestamp\":\"12\"},\"io\":{\"len\":8,\"flush\":true,\"operation\":\"Write\"}"
      "," +
      device;
  EXPECT_EQ(detected_format(text), "iotrace");
  const auto got = read("iotrace", text);
  EXPECT_EQ(got.requests.time, (std::vector<Nanoseconds>{7, 9, 10, 11, 12}));
  EXPECT_EQ(got.requests.op, (std::vector<std::uint8_t>{1, 0, 0, 2, 1}));
  EXPECT_EQ(got.requests.offset, (std::vector<std::uint64_t>{40'960, 40'960, 0, 0, 0}));
  EXPECT_EQ(got.requests.length, (std::vector<std::uint32_t>(5, 4096)));
  EXPECT_EQ(got.vms, std::vector<std::string>{"sda"});
  EXPECT_EQ(got.rows.flushes, 2);
  EXPECT_EQ(got.rows.filtered, 1);
  const ParamMap stated{
      {"time", std::string("header.timestamp")}, {"time_unit", std::string("ns")},
      {"op", std::string("io.operation")},       {"offset", std::string("io.lba")},
      {"offset_unit", std::string("sectors")},   {"length", std::string("io.len")},
      {"length_unit", std::string("sectors")}};
  const auto mapped = read("jsonl", text.substr(text.find('\n') + 1), stated);
  EXPECT_EQ(mapped.requests.offset, got.requests.offset);
  EXPECT_EQ(mapped.requests.op, got.requests.op);
}

TEST(Csv, QuotesInQuotesAreDoubled) {
  const std::string text =
      "\"time_s\",\"vm\",offset,length,\"a \"\"b\"\"\"\n1,\"v\"\"1\",0,4096,\"\"\"x\"\"\"\n"
      "2,\"\"\"\"\"\",0,4096,\"\"\n";
  const auto got = read_good_trace("csv", text, {{"where", std::string("a \"b\"=\"x\"|")}});
  EXPECT_EQ(got.vms, (std::vector<std::string>{"v\"1", "\"\""}));
  EXPECT_EQ(got.requests.time, (std::vector<Nanoseconds>{kSecond, 2 * kSecond}));
}

TEST(Csv, KeysAreJoinedWithoutCollisions) {
  const auto got = read_good_trace("csv", "a/,b\na,/b\na/,b\na~1,b\n7,8\n",
                                   {{"key", std::string("2+1")}, {"header", false}});
  EXPECT_EQ(got.keys, (std::vector<std::string>{"a~1/b", "a/~1b", "a~01/b", "7/8"}));
  EXPECT_EQ(got.requests.offset, (std::vector<std::uint64_t>{0, 1, 0, 2, 3}));
  EXPECT_EQ(complaint_about("csv", "a,b\n", {{"key", std::string("2+3")}, {"header", false}}),
            "web.csv:1: key: no column 3 among 2");
}

TEST(Csv, AFlushNeedsNoOffset) {
  const auto got = read_good_trace(
      "csv", "time_s,op,offset,length\n1,flush,,\n2,F\n3,read,0,4096\n4,sync,0,\n5,f,\"\",\"\"\n");
  EXPECT_EQ(got.rows.flushes, 4);
  EXPECT_EQ(got.requests.size(), 1U);
  EXPECT_EQ(complaint_about("csv", "time_s,offset,length,op\n1,,4096,read\n"),
            "web.csv:2: expected an offset (a whole number) in column 2 (offset), got ''");
  EXPECT_EQ(
      read_good_trace("jsonl", "{\"op\":\"r\",\"offset\":0,\"length\":1}\n{\"op\":\"flush\"}\n")
          .rows.flushes,
      1);
}

TEST(Mooncake, QwenCountsSeconds) {
  const std::string line = "{\"chat_id\":1,\"timestamp\":61.25,\"hash_ids\":[1,2]}\n";
  EXPECT_EQ(read("mooncake", line).requests.time.front(), 61'250'000'000);
  EXPECT_EQ(
      complaint_about("mooncake", "{\"timestamp\":61.25,\"hash_ids\":[1,2]}\n"),
      "web.csv:1: column 1: expected a time in whole ms, got a fraction: it may be in another "
      "unit");
  const ParamMap seconds{{"time_unit", std::string("s")}};
  EXPECT_EQ(
      read("mooncake", "{\"timestamp\":2.5,\"hash_ids\":[1,2]}\n", seconds).requests.time.front(),
      2'500'000'000);
}

TEST(Mooncake, ARequestWithoutBlocksIsFiltered) {
  const auto got = read("mooncake",
                        "{\"timestamp\": 0, \"hash_ids\": []}\n"
                        "{\"hash_ids\": [3], \"timestamp\": 2}\n"
                        "{\"timestamp\": 3, \"hash_ids\": [3]}\n");
  EXPECT_EQ(got.rows.filtered, 1);
  EXPECT_EQ(simulate(got, false), (Answers{2, 2, 1, 1}));
}

TEST(MetaKv, LaterTracesHaveTimes) {
  const auto got = read("meta-kv",
                        "op_time,key,key_size,op,op_count,size,cache_hits,ttl\n"
                        "5,a,7,GET_LEASE,2,10,1,\n6,a,7,DELETE,1,0,,\n");
  EXPECT_EQ(got.requests.time, (std::vector<Nanoseconds>{5 * kSecond, 5 * kSecond, 6 * kSecond}));
  EXPECT_EQ(got.requests.length.front(), 17U);
  EXPECT_EQ(got.time_base, TimeBase::kClock);
}

}  // namespace
}  // namespace mcsim
