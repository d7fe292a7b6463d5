// Replay of an interned trace: accesses per second of the data paths.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/exclusive_lru.hpp"
#include "core/engine/next_use.hpp"
#include "core/engine/run.hpp"
#include "core/trace/accesses.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/all.hpp"
#include "policies/allocation/shares.hpp"
#include "policies/hosts/data_path.hpp"
#include "policies/registry/eviction.hpp"

namespace mcsim {
namespace {

// Zipf(0.9) over `blocks` ids in shuffled order, dealt to `vms` VMs with equal
// universes: the shape of the peers' common trace.
Accesses zipf_trace(std::size_t accesses, std::size_t blocks, std::size_t vms) {
  Random random(1);
  std::vector<double> cumulative(blocks);
  double sum = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    cumulative[i] = sum += std::pow(static_cast<double>(i + 1), -0.9);
  }
  std::vector<BlockId> shuffled(blocks);
  std::iota(shuffled.begin(), shuffled.end(), BlockId{0});
  std::ranges::shuffle(shuffled, random);

  Accesses trace;
  const std::size_t each = blocks / vms;
  for (std::size_t v = 0; v < vms; ++v) {
    trace.vms.push_back({.name = std::to_string(v),
                         .first_id = static_cast<BlockId>(v * each),
                         .unique_blocks = static_cast<Count>(each)});
  }
  for (std::size_t i = 0; i < accesses; ++i) {
    const auto rank = std::ranges::lower_bound(cumulative, random.uniform() * sum);
    const BlockId id = shuffled[static_cast<std::size_t>(rank - cumulative.begin())];
    trace.ids.push_back(id);
    trace.request_begin.push_back(trace.ids.size());
    trace.request_time.push_back(static_cast<Nanoseconds>(i));
    trace.request_vm.push_back(static_cast<VmId>(std::min(id / each, vms - 1)));
    trace.request_op.push_back(0);
  }
  return trace;
}

const Accesses& shared_trace() {
  static const Accesses trace = zipf_trace(20'000'000, 2'000'000, 4);
  return trace;
}

Machine machine_of(std::vector<Count> capacities) {
  Machine machine;
  for (const Count blocks : capacities) machine.tiers.push_back({{}, blocks});
  return machine;
}

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void report(benchmark::State& state, const Accesses& trace, const Host& host) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * trace.access_count());
  Count hits = 0;
  for (const VmCounters& vm : host.counters()) hits += vm.accesses - vm.misses;
  state.counters["hit_ratio"] =
      static_cast<double>(hits) / static_cast<double>(trace.access_count());
}

void BM_GlobalLru(benchmark::State& state) {
  const Accesses& trace = shared_trace();
  std::vector<Count> capacities{20'000, 180'000};
  if (state.range(0) == 1) capacities = {200'000};
  std::unique_ptr<Host> host;
  for (auto _ : state) {
    host = make_shared_lru(machine_of(capacities), trace).value();
    host->replay(trace, trace.all());
  }
  report(state, trace, *host);
}
BENCHMARK(BM_GlobalLru)->ArgName("tiers")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

void BM_PartitionedLru(benchmark::State& state) {
  const Accesses& trace = shared_trace();
  Allocation targets(2, 4);
  for (std::size_t v = 0; v < 4; ++v) {
    targets.at(0, v) = 5'000;
    targets.at(1, v) = 45'000;
  }
  const auto mode = static_cast<ResizeMode>(state.range(0));
  std::unique_ptr<Host> host;
  for (auto _ : state) {
    host =
        make_partitioned_lru(machine_of({20'000, 180'000}), trace, targets, {.mode = mode}).value();
    host->replay(trace, trace.all());
  }
  report(state, trace, *host);
}
BENCHMARK(BM_PartitionedLru)
    ->ArgName("mode")
    ->Arg(static_cast<int>(ResizeMode::kEager))
    ->Arg(static_cast<int>(ResizeMode::kLazy))
    ->Unit(benchmark::kMillisecond);

// A week of hourly decisions, each by the default annealer; what the decisions
// are made from is measured apart.
void BM_MultiCache(benchmark::State& state) {
  const Accesses& trace = shared_trace();
  const Nanoseconds hour = trace.access_count() / 168;
  Machine machine = machine_of({20'000, 180'000});
  machine.tiers[0].device.read_ns = 30;
  machine.tiers[1].device.read_ns = 25'000;
  machine.backend.read_ns = 6.5e6;
  const auto make = [&] {
    auto system = system_registry().make("multicache", {}, {.machine = machine, .interval = hour});
    auto optimizer = optimizer_registry().make(*(*system)->default_optimizer(), {}, {.seed = 1});
    if (!(*system)->use_optimizer(*std::move(optimizer)).ok()) std::abort();
    return *std::move(system);
  };
  const Profile profile = characterise(trace, *make()->profile()).value();
  RunResult result;
  for (auto _ : state) {
    result = run(trace, *make(), &profile, profile.cuts).value();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * trace.access_count());
  state.counters["decisions"] = static_cast<double>(result.decisions.size());
}
BENCHMARK(BM_MultiCache)->Unit(benchmark::kMillisecond);

// Eight VMs with parts of two tiers, victims demoted, under one policy; `ratio` is the
// time of one cache of the same space for the same accesses, over the host's.
void two_tiers(benchmark::State& state, const std::string& policy) {
  static const Accesses trace = zipf_trace(20'000'000, 2'000'000, 8);
  static const Pages<NextUse> uses = next_uses(trace.ids, trace.id_count()).value();
  const Machine machine = machine_of({20'000, 180'000});
  const Division division = one_part_each(proportional(machine, std::vector<double>(8, 1.0)),
                                          {.mode = ResizeMode::kEager});
  DataPathParams params;
  params.policy = policy;
  std::unique_ptr<Host> host;
  double one = 0;
  double tiers = 0;
  for (auto _ : state) {
    const PolicySetup setup{.capacity = 200'000, .blocks = trace.id_count(), .trace = trace.ids};
    auto cache = eviction_registry().make(policy, {}, setup).value();
    const double begin = thread_seconds();
    if (!cache->replay({.blocks = trace.ids, .next_uses = {uses.data(), uses.size()}}).ok()) {
      state.SkipWithError("failed");
    }
    one += thread_seconds() - begin;
    host = make_data_path(params, machine, trace, division, 1).value();
    const double middle = thread_seconds();
    host->replay(trace, trace.all());
    const double seconds = thread_seconds() - middle;
    tiers += seconds;
    state.SetIterationTime(seconds);
  }
  report(state, trace, *host);
  state.counters["ratio"] = one / tiers;
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& entry : eviction_registry().entries()) {
    const std::string policy = entry.info.name;
    benchmark::RegisterBenchmark(("policies/two_tiers/" + policy).c_str(),
                                 [=](benchmark::State& state) { two_tiers(state, policy); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime();
  }
  return true;
}();

}  // namespace
}  // namespace mcsim
