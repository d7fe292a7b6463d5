// Exact distances on several threads against one, on the reference traces. On a machine
// that is shared, wall time says little: rates are of the critical path, the processor
// time of each phase's slowest thread. All counters but the last two are ns a reference;
// `one` is the sequential engine in the same iteration, `work` the time of all threads,
// `speed-up` one / critical path and `overhead` work / one - 1.
#include <benchmark/benchmark.h>

#include <string>

#include "core/base/cpu_clock.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/parallel_distances.hpp"
#include "core/locality/estimators/registry.hpp"
#include "tests/bench/reference_traces.hpp"

namespace mcsim {
namespace {

using bench::reference_trace;
using bench::ReferenceTrace;
using bench::Stream;

struct Keys {
  static ExactDistances one(const ReferenceTrace&) { return ExactDistances(); }
  static ParallelDistances many(const ReferenceTrace&, int threads) {
    return ParallelDistances({.threads = threads});
  }
  static auto stream(const ReferenceTrace& trace) { return trace.key_span(); }
};

struct Blocks {
  static DenseDistances one(const ReferenceTrace& trace) { return DenseDistances(trace.unique); }
  static ParallelDenseDistances many(const ReferenceTrace& trace, int threads) {
    return {trace.unique, {.threads = threads}};
  }
  static auto stream(const ReferenceTrace& trace) { return trace.block_span(); }
};

// Seconds of the sequential engine.
template <class Kind>
double time_one(const ReferenceTrace& trace) {
  const double before = cpu_seconds();
  auto distances = Kind::one(trace);
  (void)distances.process(Kind::stream(trace));
  benchmark::DoNotOptimize(distances.distinct());
  return cpu_seconds() - before;
}

template <class Kind>
void threads(benchmark::State& state, Stream stream, int count) {
  const ReferenceTrace& trace = reference_trace(stream);
  PhaseTimes sum{};
  double one = 0;
  double critical = 0;
  double work = 0;
  for (auto _ : state) {
    one += time_one<Kind>(trace);
    auto distances = Kind::many(trace, count);
    (void)distances.process(Kind::stream(trace));
    benchmark::DoNotOptimize(distances.distinct());
    const double before = critical;
    for (std::size_t phase = 0; phase < sum.size(); ++phase) {
      const PhaseTime time = distances.times()[phase];
      sum[phase].critical += time.critical;
      critical += time.critical;
      work += time.total;
    }
    state.SetIterationTime(critical - before);
  }
  const auto references =
      static_cast<double>(state.iterations()) * static_cast<double>(trace.keys.size());
  const double to_ns = 1e9 / references;
  for (std::size_t phase = 0; phase < sum.size(); ++phase) {
    state.counters[std::string(Choices<ParallelPhase>::names[phase].first)] =
        sum[phase].critical * to_ns;
  }
  state.counters["one"] = one * to_ns;
  state.counters["work"] = work * to_ns;
  state.counters["speed-up"] = one / critical;
  state.counters["overhead"] = work / one - 1;
  state.SetItemsProcessed(static_cast<std::int64_t>(references));
  state.SetLabel(trace.name);
}

// The published algorithm; rates are of wall time.
void parda(benchmark::State& state, Stream stream, int count) {
  const ReferenceTrace& trace = reference_trace(stream);
  for (auto _ : state) {
    const auto parda = estimator_registry().make("parda", {}, {.threads = count}).value();
    (void)parda->process({.keys = trace.key_span()});
    benchmark::DoNotOptimize(parda->curve());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.keys.size()));
  state.SetLabel(trace.name);
}

void all_on(Stream stream, const char* name) {
  const auto add = [&](const char* what, int count, void (*run)(benchmark::State&, Stream, int)) {
    // Two threads are part of the subject; the rest is asked for by its own name.
    const char* const subject = count == 2 && run != parda ? "locality/parallel-" : "parallel/";
    const std::string title = std::string(subject) + what + "-" + std::to_string(count);
    return benchmark::RegisterBenchmark((title + "/" + name).c_str(), run, stream, count)
        ->Unit(benchmark::kMillisecond);
  };
  for (const int count : {1, 2, 4, 16, 64}) add("keys", count, threads<Keys>)->UseManualTime();
  add("blocks", 2, threads<Blocks>)->UseManualTime();
  for (const int count : {1, 2}) {
    add("parda", count, parda)->MeasureProcessCPUTime()->UseRealTime();
  }
}

[[maybe_unused]] const bool registered = [] {
  all_on(Stream::kZipf, "zipf");
  all_on(Stream::kUniform, "uniform");
  all_on(Stream::kMix, "mix");
  return true;
}();

}  // namespace
}  // namespace mcsim
