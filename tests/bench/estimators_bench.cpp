// Speed of the estimators on the reference traces, with what they hold in memory and
// how far off they are: the mean error of the hit ratio at 1000 sizes up to all
// distinct blocks, of one seed.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/base/isa.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/locality/estimators/registry.hpp"
#include "core/locality/sampling/online_mrc.hpp"
#include "tests/bench/reference_traces.hpp"

namespace mcsim {
namespace {

using bench::reference_trace;
using bench::ReferenceTrace;
using bench::Stream;

void report(benchmark::State& state, const ReferenceTrace& trace) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.keys.size()));
  state.SetLabel(trace.name);
}

// Kept up to a call for another stream, as the stream is.
const HitCurve& exact_curve(Stream stream) {
  static Stream made_of = stream;
  static HitCurve curve(histogram_of(reference_trace(stream).key_span()).value());
  if (made_of != stream) {
    curve = HitCurve(histogram_of(reference_trace(stream).key_span()).value());
    made_of = stream;
  }
  return curve;
}

double mean_error(const CurveEstimate& curve, const HitCurve& exact, std::size_t unique) {
  constexpr Count kSizes = 1000;
  double sum = 0;
  for (Count i = 1; i <= kSizes; ++i) {
    const Count capacity = static_cast<Count>(unique) * i / kSizes;
    sum += std::abs(curve.hits_at(static_cast<double>(capacity)) -
                    static_cast<double>(exact.hits(capacity)));
  }
  return sum / static_cast<double>(kSizes) / static_cast<double>(exact.accesses());
}

struct Subject {
  const char* label;
  const char* estimator;
  ParamMap params;
};

void estimate(benchmark::State& state, Stream stream, const Subject& subject) {
  const ReferenceTrace& trace = reference_trace(stream);
  std::unique_ptr<Estimator> estimator;
  for (auto _ : state) {
    estimator = estimator_registry().make(subject.estimator, subject.params, {.seed = 1}).value();
    if (!estimator->process({.keys = trace.key_span()}).ok()) state.SkipWithError("failed");
  }
  report(state, trace);
  state.counters["bytes"] = static_cast<double>(estimator->bytes());
  state.counters["mean error"] =
      mean_error(estimator->curve().value(), exact_curve(stream), trace.unique);
}

// One call a reference, as from a running system.
void one_by_one(benchmark::State& state, Stream stream) {
  const ReferenceTrace& trace = reference_trace(stream);
  for (auto _ : state) {
    OnlineMrc mrc(8192, 1);
    for (const std::uint64_t key : trace.key_span()) mrc.process(key);
    benchmark::DoNotOptimize(mrc.references());
  }
  report(state, trace);
}

// The limit of sampling at low rates.
template <Isa kIsa>
void filter(benchmark::State& state, Stream stream) {
  if (kIsa > best_isa()) {
    state.SkipWithError("not one of this processor's instruction sets");
    return;
  }
  const ReferenceTrace& trace = reference_trace(stream);
  const std::uint64_t limit = SpatialFilter(0.001, 1).limit();
  std::vector<std::uint64_t> out(trace.keys.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        select_sampled_keys<kIsa>(trace.key_span(), mix64(1), limit, out.data()));
  }
  report(state, trace);
}

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all{
      {"shards-rate-0.001", "shards-rate", {{"rate", 0.001}}},
      {"shards-rate-0.01", "shards-rate", {{"rate", 0.01}}},
      {"shards-8192", "shards", {}},
      {"shards-8192-hot", "shards", {{"correction", std::string("hot")}}},
      {"counter-stacks", "counter-stacks", {}},
      {"aet", "aet", {}},
      {"aet-0.01", "aet", {{"rate", 0.01}}},
      {"statstack", "statstack", {}},
      {"mimir", "mimir", {}},
  };
  return all;
}

void all_on(Stream stream, const char* name) {
  const auto add = [&](const std::string& what, auto run) {
    benchmark::RegisterBenchmark(("locality/" + what + "/" + name).c_str(), run)
        ->Unit(benchmark::kMillisecond);
  };
  for (const Subject& subject : subjects()) {
    add(subject.label, [stream, &subject](auto& state) { estimate(state, stream, subject); });
  }
  add("shards-one-by-one", [stream](auto& state) { one_by_one(state, stream); });
  add("filter-portable", [stream](auto& state) { filter<Isa::kPortable>(state, stream); });
#if defined(__x86_64__)
  add("filter-avx2", [stream](auto& state) { filter<Isa::kAvx2>(state, stream); });
  add("filter-avx512", [stream](auto& state) { filter<Isa::kAvx512>(state, stream); });
#endif
}

[[maybe_unused]] const bool registered = [] {
  all_on(Stream::kZipf, "zipf");
  all_on(Stream::kUniform, "uniform");
  all_on(Stream::kMix, "mix");
  return true;
}();

}  // namespace
}  // namespace mcsim
