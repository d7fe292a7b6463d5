// Replay of an interned trace: accesses per second of the data paths.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "core/base/cpu_clock.hpp"
#include "core/engine/hosts/kernels/exclusive_lru.hpp"
#include "core/engine/policy/next_use.hpp"
#include "core/engine/run/run.hpp"
#include "core/trace/accesses.hpp"
#include "optimizers/registry.hpp"
#include "policies/allocation/all.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "policies/registry/eviction.hpp"
#include "tests/bench/zipf_accesses.hpp"

namespace mcsim {
namespace {

using bench::machine_of;
using bench::zipf_trace;

const Accesses& shared_trace() {
  static const Accesses trace = zipf_trace(20'000'000, 2'000'000, 4);
  return trace;
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

void BM_DividedLru(benchmark::State& state) {
  const Accesses& trace = shared_trace();
  Allocation targets(2, 4);
  for (std::size_t v = 0; v < 4; ++v) {
    targets.at(0, v) = 5'000;
    targets.at(1, v) = 45'000;
  }
  const auto mode = static_cast<ResizeMode>(state.range(0));
  std::unique_ptr<Host> host;
  for (auto _ : state) {
    host = make_divided_lru(machine_of({20'000, 180'000}), trace, targets, {.mode = mode}).value();
    host->replay(trace, trace.all());
  }
  report(state, trace, *host);
}
BENCHMARK(BM_DividedLru)
    ->ArgName("mode")
    ->Arg(static_cast<int>(ResizeMode::kEager))
    ->Arg(static_cast<int>(ResizeMode::kLazy))
    ->Unit(benchmark::kMillisecond);

// A run, and one that records what reaches the backend (`mcsim trace misses`).
void BM_MissStream(benchmark::State& state) {
  const Accesses& trace = shared_trace();
  const bool logged = state.range(0) == 1;
  const ParamMap params{{"writes", "back"}};
  const SystemContext context{.machine = machine_of({20'000, 180'000})};
  Count recorded = 0;
  for (auto _ : state) {
    auto system = system_registry().make("hierarchy", params, context).value();
    BackendLog log;
    const Tick take = [&](Count) {
      recorded += static_cast<Count>(log.take().size());
      return absl::OkStatus();
    };
    const Cuts cuts{0, trace.request_count()};
    if (!run(trace, *system, {}, cuts, take, logged ? &log : nullptr).ok()) std::abort();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * trace.access_count());
  state.counters["recorded"] = static_cast<double>(recorded);
}
BENCHMARK(BM_MissStream)->ArgName("logged")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// The same accesses to the same blocks, of few VMs or of many: hits are equal where all is
// shared.
void BM_ManyVms(benchmark::State& state) {
  const auto vms = static_cast<std::size_t>(state.range(0));
  const Accesses trace = zipf_trace(3'000'000, 500'000, vms);
  const Machine machine = machine_of({5'000, 45'000});
  const Allocation targets = proportional(machine, std::vector<double>(vms, 1.0));
  std::unique_ptr<Host> host;
  for (auto _ : state) {
    host = state.range(1) == 0
               ? make_shared_lru(machine, trace).value()
               : make_divided_lru(machine, trace, targets, {.mode = ResizeMode::kLazy}).value();
    host->replay(trace, trace.all());
  }
  report(state, trace, *host);
}
BENCHMARK(BM_ManyVms)
    ->ArgNames({"vms", "lazy"})
    ->ArgsProduct({{10, 1'000, 10'000}, {0, 1}})
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
  const Characterised measured = characterise(trace, meter_specs(*make())).value();
  const Cuts& cuts = *measured.meters.front().cuts;
  RunResult result;
  for (auto _ : state) {
    result = run(trace, *make(), measured, cuts).value();
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
    const double begin = cpu_seconds();
    if (!cache->replay({.blocks = trace.ids, .next_uses = {uses.data(), uses.size()}}).ok()) {
      state.SkipWithError("failed");
    }
    one += cpu_seconds() - begin;
    host = make_data_path(params, machine, trace, division, 1).value();
    const double middle = cpu_seconds();
    host->replay(trace, trace.all());
    const double seconds = cpu_seconds() - middle;
    tiers += seconds;
    state.SetIterationTime(seconds);
  }
  report(state, trace, *host);
  state.counters["ratio"] = one / tiers;
}

[[maybe_unused]] const bool registered = [] {
  for (const auto& entry : eviction_policies()) {
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
