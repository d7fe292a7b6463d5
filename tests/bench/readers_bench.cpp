// How fast trace formats are read, in bytes of uncompressed text (or records) a
// second on one core. The files are generated here and read from memory.
#include <benchmark/benchmark.h>

#include <functional>
#include <map>

#include "core/base/random.hpp"
#include "core/trace/formats/all.hpp"
#include "tests/support/format_seeds.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim {
namespace {

using testing::TraceBytes;

constexpr int kRows = 500'000;

// The values of a row, which look like those of a real trace.
struct Row {
  int number;
  std::uint64_t ticks;  // 100 ns
  std::uint64_t sector;
  std::uint64_t sectors;
  bool is_write;
  std::uint64_t key;

  std::uint64_t offset() const { return sector * 512; }
  std::uint64_t bytes() const { return sectors * 512; }
  const char* choose(const char* write, const char* read) const { return is_write ? write : read; }
  double seconds() const { return static_cast<double>(ticks) / 1e7; }
};

struct Layout {
  std::string header;
  std::function<std::string(const Row&)> row;
};

std::string integer(const Row& row, unsigned bytes, bool is_big) {
  const std::uint64_t value = bytes == 4 ? row.key : row.key * 8;
  TraceBytes integer;
  return (is_big ? integer.add_big(value, bytes) : integer.add(value, bytes)).bytes();
}

const std::map<std::string, Layout>& layouts() {
  static std::map<std::string, Layout> layouts{
      {"msr",
       {"",
        [](const Row& row) {
          return fmt::format("{},web,0,{},{},{},{}\n", 128'166'372'000'000'000 + row.ticks,
                             row.choose("Write", "Read"), row.offset(), row.bytes(),
                             row.key % 200'000);
        }}},
      {"csv",
       {"time_ns,vm,op,offset,length,response_ns\n",
        [](const Row& row) {
          return fmt::format("{},web_0,{},{},{},{}\n", row.ticks * 100, row.choose("Write", "Read"),
                             row.offset(), row.bytes(), row.key % 200'000);
        }}},
      {"jsonl",
       {"",
        [](const Row& row) {
          return fmt::format(
              "{{\"time_ns\": {}, \"op\": \"{}\", \"offset\": {}, \"length\": {}}}\n",
              row.ticks * 100, row.choose("write", "read"), row.offset(), row.bytes());
        }}},
      {"arc",
       {"",
        [](const Row& row) {
          return fmt::format("{} {} 0 {}\n", row.key, row.sectors / 8, row.number);
        }}},
      {"keys", {"", [](const Row& row) { return fmt::format("{}\n", row.key); }}},
      {"keys (text)", {"", [](const Row& row) { return fmt::format("user:{}\n", row.key); }}},
      {"oracle-general",
       {"",
        [](const Row& row) {
          return testing::oracle_record(static_cast<std::uint32_t>(row.number / 100), row.key, 4096,
                                        -1);
        }}},
      {"vscsi",
       {"",
        [](const Row& row) {
          return testing::vscsi_record({.command = row.is_write ? 0x2aU : 0x28U,
                                        .bytes = row.bytes(),
                                        .sector = row.sector,
                                        .time = row.ticks / 10});
        }}},
      {"lcs",
       {testing::lcs_header(3, kRows),
        [](const Row& row) {
          return testing::lcs_record(3, {.time = row.ticks / 10'000'000, .id = row.key});
        }}},
      {"twr",
       {"",
        [](const Row& row) {
          return testing::twr_record(static_cast<std::uint32_t>(row.number / 100), row.key, 20, 300,
                                     row.is_write ? 3 : 1);
        }}},
      {"twr-ns",
       {"",
        [](const Row& row) {
          return testing::twr_ns_record(static_cast<std::uint32_t>(row.number / 100), row.key, 20,
                                        300, row.is_write ? 3 : 1);
        }}},
      {"blktrace",
       {"",
        [](const Row& row) {
          return testing::blktrace_event({.time = row.ticks,
                                          .sector = row.sector,
                                          .bytes = row.bytes(),
                                          .categories = row.is_write ? 2U : 1U});
        }}},
      {"binary <IQIB",
       {"",
        [](const Row& row) {
          return testing::libcachesim_record(
                     "standard-iqi",
                     {.time = static_cast<std::uint64_t>(row.number / 100), .id = row.key}) +
                 (row.is_write ? '\3' : '\1');
        }}},
      {"valpin", {"", [](const Row& row) { return integer(row, 8, false); }}},
      {"keys-u64-le", {"", [](const Row& row) { return integer(row, 8, false); }}},
      {"keys-u64-be", {"", [](const Row& row) { return integer(row, 8, true); }}},
      {"keys-u32-le", {"", [](const Row& row) { return integer(row, 4, false); }}},
      {"keys-u32-be", {"", [](const Row& row) { return integer(row, 4, true); }}},
      {"alibaba",
       {"",
        [](const Row& row) {
          return fmt::format("{},{},{},{},{}\n", row.key % 4, row.choose("W", "R"), row.offset(),
                             row.bytes(), row.ticks / 10);
        }}},
      {"tencent",
       {"",
        [](const Row& row) {
          return fmt::format("{},{},{},{:d},{}\n", row.ticks / 10'000'000, row.sector, row.sectors,
                             row.is_write, row.key % 4);
        }}},
      {"cloudphysics",
       {"version,time,op,size,lbn\n",
        [](const Row& row) {
          return fmt::format("1,{},{},{},{}\n", row.ticks / 10, row.choose("2a", "28"), row.bytes(),
                             row.sector);
        }}},
      {"systor17",
       {"Timestamp,Response,IOType,LUN,Offset,Size\n",
        [](const Row& row) {
          return fmt::format("{:.9f},0.00{},{},0,{},{}\n", row.seconds(), row.key % 9,
                             row.choose("W", "R"), row.offset(), row.bytes());
        }}},
      {"spc",
       {"",
        [](const Row& row) {
          return fmt::format("0,{},{},{},{:.6f}\n", row.sector, row.bytes(), row.choose("W", "R"),
                             row.seconds());
        }}},
      {"fiu",
       {"",
        [](const Row& row) {
          return fmt::format("{} {} httpd {} 8 {} 6 0 0123456789abcdef0123456789abcdef\n",
                             row.ticks * 100, row.key % 30'000, row.sector, row.choose("W", "R"));
        }}},
      {"k5cloud",
       {"",
        [](const Row& row) {
          return fmt::format("{},{:.6f},{},{},{}\n", row.key % 4, row.seconds(),
                             row.choose("W", "R"), row.offset(), row.bytes());
        }}},
      {"thesios",
       {"filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,"
        "from_flash_cache,cache_hit,request_io_size_bytes,disk_io_size_bytes,"
        "response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,"
        "simulated_latency\n",
        [](const Row& row) {
          return fmt::format(
              "a1b2,{},app1,1600000000.1,WARM,REPLICATED,{},OTHER,0,-1,{},4096,4096,"
              "{:.4f},0.004,1700000100.5,0.0045\n",
              row.offset(), row.choose("WRITE", "READ"), row.bytes(), row.seconds());
        }}},
      {"disksim",
       {"",
        [](const Row& row) {
          return fmt::format("{:.6f} 0 {} {} {}\n", row.seconds() * 1e3, row.sector, row.sectors,
                             row.choose("0", "1"));
        }}},
      {"mqsim",
       {"",
        [](const Row& row) {
          return fmt::format("{} 0 {} {} {}\n", row.ticks * 100, row.sector, row.sectors,
                             row.choose("0", "1"));
        }}},
      {"camelab",
       {"",
        [](const Row& row) {
          return fmt::format("{:.6f} {} {} {} 0.1\n", row.seconds(), row.choose("W", "R"),
                             row.sector, row.sectors);
        }}},
      {"blkparse",
       {"",
        [](const Row& row) {
          return fmt::format("  8,0    1 {:8} {:13.9f} {:5}  Q {:>3} {} + {} [fio]\n",
                             row.number + 1, row.seconds(), row.key % 30'000, row.choose("W", "R"),
                             row.sector, row.sectors);
        }}},
      {"biosnoop",
       {"TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n",
        [](const Row& row) {
          return fmt::format(
              "{:<11.6f} fio            2501    nvme0n1   {} {:<10} "
              "{:<6}    0.17\n",
              row.seconds(), row.choose("W", "R"), row.sector, row.bytes());
        }}},
      {"fio",
       {"fio version 2 iolog\n/dev/sdx add\n/dev/sdx open\n",
        [](const Row& row) {
          return fmt::format("/dev/sdx {} {} {}\n", row.choose("write", "read"), row.offset(),
                             row.bytes());
        }}},
      {"twitter",
       {"",
        [](const Row& row) {
          return fmt::format("{},user:{}:profile,15,{},{},{},0\n", row.number / 100, row.key,
                             row.sectors, row.key % 99, row.choose("set", "get"));
        }}},
      {"meta-kv",
       {"key,op,size,op_count,key_size\n",
        [](const Row& row) {
          return fmt::format("{},{},{},1,40\n", row.key, row.choose("SET", "GET"), row.sectors);
        }}},
      {"ibm-object-store",
       {"",
        [](const Row& row) {
          return fmt::format("{} REST.{}.OBJECT {:016x} {}\n", row.ticks / 10'000,
                             row.choose("PUT", "GET"), row.key, row.bytes());
        }}},
      {"mooncake",
       {"",
        [](const Row& row) {
          return fmt::format(
              "{{\"timestamp\": {}, \"input_length\": 1536, "
              "\"output_length\": 10, \"hash_ids\": [0, {}, {}]}}\n",
              row.number, row.key, row.key + 1);
        }}},
      {"lackey",
       {"",
        [](const Row& row) {
          return fmt::format(" {} {:x},8\n", row.choose("S", "L"), row.offset());
        }}},
      {"strace",
       {"",
        [](const Row& row) {
          return fmt::format("1234 {:.6f} {}(3</data/a.db>, \"\"..., {}, {}) = {} <0.000012>\n",
                             row.seconds(), row.choose("pwrite64", "pread64"), row.bytes(),
                             row.offset(), row.bytes());
        }}},
      {"tectonic",
       {"",
        [](const Row& row) {
          return fmt::format("{} {} {} {:.6f} {} 10 20 0 1 7\n", row.key, row.sector % 8'192,
                             row.bytes(), row.seconds(), row.choose("3", "1"));
        }}},
      {"etw",
       {"BeginHeader\nEndHeader\n",
        [](const Row& row) {
          return fmt::format(
              "  {},  {:9},  a.exe ({:4}),  1234,  0xfffffa80053a4d80,  {:#012x},  {:#010x},  312, "
              " 0,  0x060043,  312,  Normal\n",
              row.choose("DiskWrite", "DiskRead"), row.ticks / 10, row.key % 9999, row.offset(),
              row.bytes());
        }}},
      {"wikimedia",
       {"relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n",
        [](const Row& row) {
          return fmt::format("{}\t{}\tjpeg\t{}\t1.88E-4\n", row.number / 100, row.key, row.bytes());
        }}},
      {"wikibench",
       {"",
        [](const Row& row) {
          return fmt::format("{} {:.3f} http://en.wikipedia.org/wiki/{} -\n", row.number,
                             row.seconds(), row.key);
        }}},
      {"tencent-photo",
       {"",
        [](const Row& row) {
          return fmt::format("20160201{:02}{:02}{:02} {:040x} 0 l {} 1 PHONE 12\n",
                             row.number / 36'000, row.number / 600 % 60, row.number / 10 % 60,
                             row.key, row.bytes());
        }}},
  };
  for (const auto& [format, bytes] : testing::libcachesim_records()) {
    layouts[format].row = [format](const Row& row) {
      return testing::libcachesim_record(
          format, {.time = static_cast<std::uint64_t>(row.number / 100), .id = row.key});
    };
  }
  return layouts;
}

std::string file_of(const Layout& layout, std::uint64_t distinct_keys) {
  Random random(1);
  std::string file = layout.header;
  std::uint64_t ticks = 16'000'000'000'000'000;
  for (int i = 0; i < kRows; ++i) {
    ticks += random.below(100'000);
    file += layout.row({.number = i,
                        .ticks = ticks % 40'000'000'000'000'000,
                        .sector = random.below(200'000'000),
                        .sectors = (1 + random.below(16)) * 8,
                        .is_write = random.below(4) == 0,
                        .key = random.below(distinct_keys)});
  }
  return file;
}

void read_all(benchmark::State& state, const std::string& format, const std::string& bytes) {
  Requests chunk;
  for (auto _ : state) {
    state.PauseTiming();
    ReaderContext context{.source = *open_bytes(bytes, format), .name = format, .vm_name = "vm"};
    state.ResumeTiming();
    const auto reader = *formats().make(format, testing::seed_params(format), std::move(context));
    do {
      if (const absl::Status status = reader->next(chunk); !status.ok()) {
        state.SkipWithError(message_of(status).c_str());
        return;
      }
      benchmark::DoNotOptimize(chunk.offset.data());
    } while (chunk.size() > 0);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
  state.SetItemsProcessed(std::int64_t{kRows} * state.iterations());
}

const bool registered = [] {
  constexpr std::uint64_t kDistinctKeys = 5'000'000;
  for (const auto& [name, layout] : layouts()) {
    const std::string format = name.substr(0, name.find(' '));
    benchmark::RegisterBenchmark(("Reader/" + name).c_str(), [format,
                                                              &layout](benchmark::State& state) {
      read_all(state, format, file_of(layout, kDistinctKeys));
    })->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace mcsim
