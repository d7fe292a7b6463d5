// Speed of exact reuse distances and of the characteriser, in accesses a second.
#include <benchmark/benchmark.h>

#include <cmath>

#include "core/base/random.hpp"
#include "core/locality/profile.hpp"
#include "core/locality/reuse_distance.hpp"

namespace mcsim {
namespace {

// Block numbers in [0, blocks), the low ones more often: u^skew is uniform for
// 1 and ever more uneven above.
std::uint64_t skewed(Random& random, std::uint64_t blocks, double skew) {
  return static_cast<std::uint64_t>(std::pow(random.uniform(), skew) * static_cast<double>(blocks));
}

// A week of `vm_count` VMs at a steady rate.
Accesses week(VmId vm_count, std::size_t accesses, std::uint64_t blocks_per_vm) {
  constexpr std::size_t kBlocksPerRequest = 4;
  const std::size_t requests = accesses / kBlocksPerRequest;
  const Nanoseconds step = 7 * 24 * 3600 * kSecond / static_cast<Nanoseconds>(requests);
  Random random(1);
  Accesses trace;
  for (VmId vm = 0; vm < vm_count; ++vm) {
    trace.vms.push_back({.name = "vm",
                         .first_id = static_cast<BlockId>(vm * blocks_per_vm),
                         .unique_blocks = static_cast<Count>(blocks_per_vm)});
  }
  for (std::size_t r = 0; r < requests; ++r) {
    const auto vm = static_cast<VmId>(random.below(vm_count));
    const auto first = skewed(random, blocks_per_vm - kBlocksPerRequest, 3);
    for (std::size_t b = 0; b < kBlocksPerRequest; ++b) {
      trace.ids.push_back(trace.vms[vm].first_id + static_cast<BlockId>(first + b));
    }
    trace.request_begin.push_back(trace.ids.size());
    trace.request_time.push_back(static_cast<Nanoseconds>(r) * step);
    trace.request_vm.push_back(vm);
    trace.request_op.push_back(static_cast<std::uint8_t>(Op::kRead));
    ++trace.vms[vm].requests;
    trace.vms[vm].accesses += static_cast<Count>(kBlocksPerRequest);
  }
  return trace;
}

void characterise_week(benchmark::State& state, const ProfileSpec& spec) {
  const Accesses trace = week(4, 20'000'000, static_cast<std::uint64_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(characterise(trace, spec));
  state.SetItemsProcessed(state.iterations() * trace.access_count());
}
BENCHMARK_CAPTURE(characterise_week, hourly, ProfileSpec{})
    ->Arg(100'000)
    ->Arg(2'000'000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK_CAPTURE(characterise_week, cumulative,
                  ProfileSpec{.drifting = true,
                              .scope = DistanceScope::kCumulative,
                              .distance_limit = 1'100'000,
                              .ri_window = 600 * kSecond,
                              .unique = UniqueCounter::kHyperLogLog,
                              .capacities = {2'500, 25'000, 50'000, 100'000}})
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

void histogram_of_keys(benchmark::State& state) {
  Random random(2);
  std::vector<std::uint64_t> keys(5'000'000);
  for (auto& key : keys) {
    key = mix64(skewed(random, static_cast<std::uint64_t>(state.range(0)),
                       static_cast<double>(state.range(1))));
  }
  for (auto _ : state) benchmark::DoNotOptimize(*histogram_of(keys));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
}
BENCHMARK(histogram_of_keys)
    ->ArgNames({"blocks", "skew"})
    ->Args({100'000, 3})
    ->Args({2'000'000, 3})
    ->Args({2'000'000, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mcsim
