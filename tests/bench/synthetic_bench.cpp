// How fast synthetic workloads are made, by locality model; items are accesses.
#include <benchmark/benchmark.h>

#include "core/containers/recency_list.hpp"
#include "core/trace/synthetic/synthetic.hpp"

namespace mcsim {
namespace {

constexpr Count kLive = 1'000'000;

void generate(benchmark::State& state, const LocalityModel& model) {
  // Long enough that the stack is as deep as the model reaches.
  SyntheticProfile profile{.seed = 1};
  profile.vms.push_back(
      {"vm",
       {{"c", model, {{4096, 1}}}},
       {{.duration = 1000 * kSecond, .requests = Count{1} << 40, .reads = {{"c", 1}}}}});
  auto trace = SyntheticTrace::make(profile);
  Requests chunk;
  const auto make = [&] { return trace->next(1 << 18, chunk).ok(); };
  for (int i = 0; i < 40; ++i) make();
  for (auto _ : state) {
    if (!make()) state.SkipWithError("the trace ended");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(chunk.size()) * state.iterations());
}

BENCHMARK_CAPTURE(generate, stack, StackModel{{{kLive, 0.95}}})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(generate, zipf, ZipfModel{.blocks = kLive, .alpha = 0.9})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(generate, loop, LoopModel{kLive})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(generate, scan, ScanModel{})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mcsim
