// Exact distances on several threads against one. On a machine that is shared, wall
// time says little: `critical_ns` is the processor time of each phase's slowest
// thread, `total_ns` that of all of them, a reference.
#include <benchmark/benchmark.h>

#include <cmath>

#include "core/base/random.hpp"
#include "core/locality/exact_distances.hpp"
#include "core/locality/parallel_distances.hpp"

namespace mcsim {
namespace {

// Block numbers in [0, blocks), the low ones more often: u^skew is uniform for 1.
std::vector<std::uint64_t> keys_of(const benchmark::State& state) {
  Random random(2);
  std::vector<std::uint64_t> keys(20'000'000);
  for (auto& key : keys) {
    const double place = std::pow(random.uniform(), static_cast<double>(state.range(1)));
    key = static_cast<std::uint64_t>(place * static_cast<double>(state.range(0)));
  }
  return keys;
}

void one_thread(benchmark::State& state) {
  const std::vector<std::uint64_t> keys = keys_of(state);
  for (auto _ : state) {
    ExactDistances distances;
    benchmark::DoNotOptimize(distances.process(keys));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
}

void threads(benchmark::State& state) {
  const std::vector<std::uint64_t> keys = keys_of(state);
  PhaseTimes sum{};
  for (auto _ : state) {
    ParallelDistances distances({.threads = static_cast<int>(state.range(2))});
    benchmark::DoNotOptimize(distances.process(keys));
    benchmark::DoNotOptimize(distances.distinct());
    for (std::size_t phase = 0; phase < sum.size(); ++phase) {
      sum[phase].critical += distances.times()[phase].critical;
      sum[phase].total += distances.times()[phase].total;
    }
  }
  const double references =
      static_cast<double>(state.iterations()) * 1e-9 * static_cast<double>(keys.size());
  double critical = 0;
  double total = 0;
  for (std::size_t phase = 0; phase < sum.size(); ++phase) {
    state.counters[std::string(Choices<ParallelPhase>::names[phase].first) + "_ns"] =
        sum[phase].critical / references;
    critical += sum[phase].critical;
    total += sum[phase].total;
  }
  state.counters["critical_ns"] = critical / references;
  state.counters["total_ns"] = total / references;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
}

BENCHMARK(one_thread)
    ->ArgNames({"blocks", "skew"})
    ->ArgsProduct({{2'000'000, 20'000'000}, {1, 3}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(threads)
    ->ArgNames({"blocks", "skew", "threads"})
    ->ArgsProduct({{2'000'000, 20'000'000}, {1, 3}, {1, 2, 4}})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace mcsim
