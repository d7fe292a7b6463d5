// Exact distances on one and several threads, and the published algorithm, on the reference traces.
// Rates are of wall time. On a shared machine compare the processor time, which is that of all
// threads.
#include <benchmark/benchmark.h>

#include <string>

#include "core/locality/estimators/registry.hpp"
#include "tests/bench/reference_traces.hpp"

namespace mcsim {
namespace {

using bench::reference_trace;
using bench::ReferenceTrace;
using bench::Stream;

void count(benchmark::State& state, Stream stream, const char* estimator, int threads) {
  const ReferenceTrace& trace = reference_trace(stream);
  for (auto _ : state) {
    const auto made = estimator_registry().make(estimator, {}, {.threads = threads}).value();
    (void)made->process({.keys = trace.key_span()});
    benchmark::DoNotOptimize(made->distinct());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.keys.size()));
  state.SetLabel(trace.name);
}

void all_on(Stream stream, const char* name) {
  const auto add = [&](const char* estimator, int threads) {
    // `./mcsim bench locality` runs two threads; a filter selects others.
    const std::string subject = threads == 2 ? "locality/" : "";
    const std::string title =
        subject + "threads-" + std::to_string(threads) + "/" + estimator + "/" + name;
    benchmark::RegisterBenchmark(title.c_str(), count, stream, estimator, threads)
        ->Unit(benchmark::kMillisecond)
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  };
  for (const int threads : {1, 2, 4, 16}) add("exact", threads);
  for (const int threads : {1, 2}) add("parda", threads);
}

[[maybe_unused]] const bool registered = [] {
  all_on(Stream::kZipf, "zipf");
  all_on(Stream::kUniform, "uniform");
  all_on(Stream::kMix, "mix");
  return true;
}();

}  // namespace
}  // namespace mcsim
