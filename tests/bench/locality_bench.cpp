// Speed of exact reuse distances and of the characteriser, in accesses a second.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "core/base/random.hpp"
#include "core/containers/block_table.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/interning/accesses_sink.hpp"
#include "tests/bench/reference_traces.hpp"

namespace mcsim {
namespace {

// Block numbers in [0, blocks), the low ones more often: u^skew is uniform for
// 1 and ever more uneven above.
std::uint64_t skewed(Random& random, std::uint64_t blocks, double skew) {
  return static_cast<std::uint64_t>(std::pow(random.uniform(), skew) * static_cast<double>(blocks));
}

// A week of `vm_count` VMs at a steady rate.
Accesses week(std::size_t vm_count, std::size_t accesses, std::uint64_t blocks_per_vm) {
  constexpr std::size_t kBlocksPerRequest = 4;
  const std::size_t requests = accesses / kBlocksPerRequest;
  const Nanoseconds step = 7 * 24 * 3600 * kSecond / static_cast<Nanoseconds>(requests);
  Random random(1);
  Accesses trace;
  for (std::size_t vm = 0; vm < vm_count; ++vm) {
    trace.vms.push_back({.name = "vm",
                         .first_id = static_cast<BlockId>(vm * blocks_per_vm),
                         .unique_blocks = static_cast<Count>(blocks_per_vm)});
  }
  AccessesSink sink(trace, requests, accesses);
  for (std::size_t r = 0; r < requests; ++r) {
    const auto vm = static_cast<VmId>(random.below(vm_count));
    const auto first = skewed(random, blocks_per_vm - kBlocksPerRequest, 3);
    for (std::size_t b = 0; b < kBlocksPerRequest; ++b) {
      sink.push_block(trace.vms[vm].first_id + (first + b));
    }
    sink.push_request(static_cast<Nanoseconds>(r) * step, vm, static_cast<std::uint8_t>(Op::kRead));
    ++trace.vms[vm].requests;
    trace.vms[vm].accesses += static_cast<Count>(kBlocksPerRequest);
  }
  Accesses made = std::move(sink).finish().value();
  made.vms = std::move(trace.vms);
  return made;
}

void characterise_week(benchmark::State& state, const std::vector<MeterSpec>& specs, int threads) {
  const Accesses trace = week(4, 20'000'000, static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(characterise(trace, specs, nullptr, threads));
  state.SetItemsProcessed(state.iterations() * trace.access_count());
}

// The meters of Multi-Cache.
const std::vector<MeterSpec> kHourly{{{}, CurveMeter{}}, {{}, IntensityMeter{}}};

// The curves alone, by a pass over the trace for every hour.
void hour_by_hour(benchmark::State& state) {
  const Accesses trace = week(4, 20'000'000, static_cast<std::uint64_t>(state.range(0)));
  const Cuts cuts = aligned_cuts(trace.request_time, TimerClock{}.period);
  for (auto _ : state) {
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      const Nanoseconds begin = trace.request_time[cuts[k]];
      const Nanoseconds last = trace.request_time[cuts[k + 1] - 1];
      std::vector<ExactDistances> vms(trace.vms.size());
      std::vector<std::uint64_t> keys;
      for (std::size_t r = 0; r < trace.request_time.size(); ++r) {
        if (trace.request_time[r] < begin || trace.request_time[r] > last) continue;
        const std::span<const BlockId> ids = trace.blocks_of(r);
        keys.assign(ids.begin(), ids.end());
        benchmark::DoNotOptimize(vms[trace.request_vm[r]].process(keys));
      }
      for (const ExactDistances& vm : vms) benchmark::DoNotOptimize(HitCurve(vm.histogram()));
    }
  }
  state.SetItemsProcessed(state.iterations() * trace.access_count());
}

BENCHMARK_CAPTURE(characterise_week, hourly, kHourly, 1)
    ->Arg(100'000)
    ->Arg(2'000'000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(characterise_week, hourly_2_threads, kHourly, 2)
    ->Arg(100'000)
    ->Arg(2'000'000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(hour_by_hour)
    ->Arg(100'000)
    ->Arg(2'000'000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(characterise_week, cumulative,
                  {{{.drifting = true},
                    CurveMeter{.scope = DistanceScope::kCumulative, .distance_limit = 1'100'000}},
                   {{.drifting = true},
                    IntensityMeter{.window = {600 * kSecond},
                                   .unique = UniqueCounter::kHyperLogLog}}},
                  1)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// --- Distances of one stream, on the reference traces ------------------------------
//
// Stated in references a second of the thread's own CPU time. `bytes` is what the
// engine holds at the end for each distinct block, its histogram apart.

using bench::reference_trace;
using bench::ReferenceTrace;
using bench::Stream;

void report(benchmark::State& state, const ReferenceTrace& trace, std::size_t bytes) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.keys.size()));
  state.SetLabel(trace.name);
  if (bytes > 0) {
    state.counters["bytes/block"] = static_cast<double>(bytes) / static_cast<double>(trace.unique);
  }
}

void exact_keys(benchmark::State& state, Stream stream) {
  const ReferenceTrace& trace = reference_trace(stream);
  std::size_t bytes = 0;
  for (auto _ : state) {
    ExactDistances exact;
    benchmark::DoNotOptimize(exact.process(trace.key_span()));
    bytes = exact.bytes() - exact.histogram_bytes();
  }
  report(state, trace, bytes);
}

void exact_blocks(benchmark::State& state, Stream stream) {
  const ReferenceTrace& trace = reference_trace(stream);
  std::size_t bytes = 0;
  for (auto _ : state) {
    DenseDistances exact(trace.unique);
    exact.process(trace.block_span());
    bytes = exact.bytes() - exact.histogram_bytes();
  }
  report(state, trace, bytes);
}

void exact_list(benchmark::State& state, Stream stream) {
  const ReferenceTrace& trace = reference_trace(stream);
  std::vector<Count> distances(trace.keys.size());
  for (auto _ : state) {
    ExactDistances exact;
    benchmark::DoNotOptimize(exact.process(trace.key_span(), distances));
  }
  report(state, trace, 0);
}

void intern(benchmark::State& state, Stream stream) {
  const ReferenceTrace& trace = reference_trace(stream);
  std::vector<std::uint32_t> numbers(trace.keys.size());
  std::size_t bytes = 0;
  for (auto _ : state) {
    BlockTable table;
    table.number(trace.key_span(), numbers);
    bytes = table.bytes();
  }
  report(state, trace, bytes);
}

void all_on(Stream stream, const char* name) {
  const auto add = [&](const char* what, void (*run)(benchmark::State&, Stream)) {
    benchmark::RegisterBenchmark((std::string("locality/") + what + "/" + name).c_str(), run,
                                 stream)
        ->Unit(benchmark::kMillisecond);
  };
  add("exact-keys", exact_keys);
  add("exact-blocks", exact_blocks);
  if (stream == Stream::kZipfLarge) return;
  add("exact-list", exact_list);
  add("intern", intern);
}

// Trace by trace: only one is in memory at a time.
[[maybe_unused]] const bool registered = [] {
  all_on(Stream::kZipf, "zipf");
  all_on(Stream::kUniform, "uniform");
  all_on(Stream::kMix, "mix");
  all_on(Stream::kZipfLarge, "zipf-large");
  return true;
}();

}  // namespace
}  // namespace mcsim
