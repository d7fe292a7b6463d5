// How fast trace formats are read, in bytes of uncompressed text (or records) a
// second on one core. The text is generated here and read from memory.
#include <benchmark/benchmark.h>

#include <cstring>

#include "core/base/random.hpp"
#include "core/trace/reader.hpp"

namespace mcsim {
namespace {

constexpr int kRequests = 500'000;

// What a field of a real trace looks like: times that grow, offsets of some 10^11
// bytes, sizes of a few pages.
struct Shape {
  Random random{1};
  std::uint64_t time = 128'166'372'000'000'000;

  std::uint64_t next_time() { return time += random.below(100'000); }
  std::uint64_t offset() { return random.below(200'000'000) * 512; }
  std::uint64_t size() { return (1 + random.below(16)) * 4096; }
  const char* op() { return random.below(4) == 0 ? "Write" : "Read"; }
};

std::string msr_text(int volumes) {
  Shape shape;
  std::string text;
  for (int i = 0; i < kRequests; ++i) {
    text += fmt::format("{},web,{},{},{},{},{}\n", shape.next_time(), i % volumes, shape.op(),
                        shape.offset(), shape.size(), shape.random.below(200'000));
  }
  return text;
}

std::string csv_text() {
  Shape shape;
  std::string text = "time_ns,vm,op,offset,length,response_ns\n";
  for (int i = 0; i < kRequests; ++i) {
    text += fmt::format("{},web_0,{},{},{},{}\n", shape.next_time(), shape.op(), shape.offset(),
                        shape.size(), shape.random.below(200'000));
  }
  return text;
}

std::string arc_text() {
  Shape shape;
  std::string text;
  for (int i = 0; i < kRequests; ++i) {
    text += fmt::format("{} {} 0 {}\n", shape.random.below(5'000'000), 1 + i % 64, i);
  }
  return text;
}

std::string keys_text() {
  Shape shape;
  std::string text;
  for (int i = 0; i < kRequests; ++i) text += fmt::format("{}\n", shape.random.below(5'000'000));
  return text;
}

std::string oracle_bytes() {
  Shape shape;
  std::string bytes;
  for (int i = 0; i < kRequests; ++i) {
    const auto time = static_cast<std::uint32_t>(i / 100);
    const std::uint64_t id = shape.random.below(5'000'000);
    const std::uint32_t size = 4096;
    const std::int64_t next = -1;
    bytes.append(reinterpret_cast<const char*>(&time), sizeof time);
    bytes.append(reinterpret_cast<const char*>(&id), sizeof id);
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes.append(reinterpret_cast<const char*>(&next), sizeof next);
  }
  return bytes;
}

void read_all(benchmark::State& state, const char* format, const std::string& bytes) {
  Requests chunk;
  for (auto _ : state) {
    state.PauseTiming();
    ReaderContext context{.source = *open_bytes(bytes, format), .name = format, .vm_name = "vm"};
    state.ResumeTiming();
    const auto reader = *formats().make(format, {}, std::move(context));
    do {
      if (const absl::Status status = reader->next(chunk); !status.ok()) {
        state.SkipWithError(message_of(status).c_str());
        return;
      }
      benchmark::DoNotOptimize(chunk.offset.data());
    } while (chunk.size() > 0);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
  state.SetItemsProcessed(std::int64_t{kRequests} * state.iterations());
}

void Msr(benchmark::State& state) { read_all(state, "msr", msr_text(1)); }
void MsrFourVolumes(benchmark::State& state) { read_all(state, "msr", msr_text(4)); }
void Csv(benchmark::State& state) { read_all(state, "csv", csv_text()); }
void Arc(benchmark::State& state) { read_all(state, "arc", arc_text()); }
void Keys(benchmark::State& state) { read_all(state, "keys", keys_text()); }
void OracleGeneral(benchmark::State& state) { read_all(state, "oracle-general", oracle_bytes()); }

BENCHMARK(Msr)->Unit(benchmark::kMillisecond);
BENCHMARK(MsrFourVolumes)->Unit(benchmark::kMillisecond);
BENCHMARK(Csv)->Unit(benchmark::kMillisecond);
BENCHMARK(Arc)->Unit(benchmark::kMillisecond);
BENCHMARK(Keys)->Unit(benchmark::kMillisecond);
BENCHMARK(OracleGeneral)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mcsim
