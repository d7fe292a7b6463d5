// Speed of sampled curves, in references a second, and the memory they take.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/locality/estimator.hpp"
#include "core/locality/online_mrc.hpp"
#include "core/locality/sample_filter.hpp"
#include "tests/support/streams.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mcsim {
namespace {

constexpr std::size_t kReferences = 20'000'000;

// Memory bounds these loops, and small pages halve it: as a large trace should
// be, the keys are asked to lie in huge ones.
const std::vector<std::uint64_t>& keys() {
  static const std::vector<std::uint64_t> made = [] {
    std::vector<std::uint64_t> result;
    result.reserve(kReferences);
#if defined(__linux__)
    constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
    const auto begin = (reinterpret_cast<std::uintptr_t>(result.data()) + kHuge - 1) & -kHuge;
    madvise(reinterpret_cast<void*>(begin), kReferences * sizeof(std::uint64_t) - kHuge,
            MADV_HUGEPAGE);
#endif
    const auto zipf = streams::zipf(kReferences, 2'000'000, 0.9, 1);
    result.assign(zipf.begin(), zipf.end());
    return result;
  }();
  return made;
}

void count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kReferences));
}

// The filter alone, compiled for each instruction set; `rate` in millionths.
void sample_filter(benchmark::State& state, Isa set) {
  if (set > isa()) {
    state.SkipWithError("not one of this processor's instruction sets");
    return;
  }
  const SpatialFilter filter(1e-6 * static_cast<double>(state.range(0)), 1);
  std::vector<std::uint64_t> out(kReferences);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sample_filter_loops(set).keys(keys().data(), kReferences, mix64(1),
                                                           filter.limit(), out.data()));
  }
  count(state);
}
BENCHMARK_CAPTURE(sample_filter, portable, Isa::kPortable)->Arg(1000)->Arg(10'000);
BENCHMARK_CAPTURE(sample_filter, avx2, Isa::kAvx2)->Arg(1000)->Arg(10'000);
BENCHMARK_CAPTURE(sample_filter, avx512, Isa::kAvx512)->Arg(1000)->Arg(10'000);

void sampled(benchmark::State& state, const char* name, const ParamMap& params) {
  double bytes = 0;
  for (auto _ : state) {
    auto estimator = estimator_registry().make(name, params, {}).value();
    if (!estimator->process({.keys = keys()}).ok()) state.SkipWithError("failed");
    bytes = static_cast<double>(estimator->bytes());
  }
  count(state);
  state.counters["bytes"] = bytes;
}
BENCHMARK_CAPTURE(sampled, rate_1000ppm, "shards-rate", {{"rate", 0.001}});
BENCHMARK_CAPTURE(sampled, rate_10000ppm, "shards-rate", {{"rate", 0.01}});
BENCHMARK_CAPTURE(sampled, size_2048, "shards", {{"max_blocks", std::int64_t{2048}}});
BENCHMARK_CAPTURE(sampled, size_8192, "shards", {{"max_blocks", std::int64_t{8192}}});
BENCHMARK_CAPTURE(sampled, size_32768, "shards", {{"max_blocks", std::int64_t{32'768}}});
BENCHMARK_CAPTURE(sampled, size_8192_hot, "shards", {{"correction", std::string("hot")}});

void one_by_one(benchmark::State& state) {
  for (auto _ : state) {
    OnlineMrc mrc(8192, 1);
    for (const std::uint64_t key : keys()) mrc.process(key);
    benchmark::DoNotOptimize(mrc.references());
  }
  count(state);
}
BENCHMARK(one_by_one);

}  // namespace
}  // namespace mcsim
