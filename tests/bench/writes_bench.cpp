// Replay of reads and writes through two tiers: accesses a second of every chain, under
// every mode of writing, modes by VM, and modes that change 168 times.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "policies/allocation/dividing.hpp"
#include "policies/hosts/data_path.hpp"
#include "tests/bench/zipf_accesses.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kVms = 8;
constexpr std::size_t kChanges = 168;

enum class Sharing { kAll, kEager, kLazy };

Division division_of(Sharing sharing, const Machine& machine, const Accesses& trace) {
  if (sharing == Sharing::kAll) return shared_by_all(machine, trace);
  const ResizeMode mode = sharing == Sharing::kEager ? ResizeMode::kEager : ResizeMode::kLazy;
  return one_part_each(proportional(machine, std::vector<double>(kVms, 1.0)), {.mode = mode});
}

// Mode of each VM at a change: `shift` apart.
std::vector<WriteMode> modes_at(std::size_t change) {
  std::vector<WriteMode> modes;
  for (std::size_t vm = 0; vm < kVms; ++vm) {
    modes.push_back(static_cast<WriteMode>((vm + change) % 3));
  }
  return modes;
}

void replay(benchmark::State& state, const std::string& policy, Chain chain, Sharing sharing,
            const std::string& writes) {
  static const Accesses mixed = bench::zipf_trace(10'000'000, 2'000'000, kVms, 0.5);
  static const Accesses reads = bench::zipf_trace(10'000'000, 2'000'000, kVms);
  const Accesses& trace = writes == "none" ? reads : mixed;
  const Machine machine = bench::machine_of({20'000, 180'000});
  DataPathParams params;
  params.policy = policy;
  params.chain = chain;
  const bool one_mode = writes == "through" || writes == "back" || writes == "around";
  if (one_mode) params.writes = writes;
  for (auto _ : state) {
    state.PauseTiming();
    auto host =
        make_data_path(params, machine, trace, division_of(sharing, machine, trace), 1).value();
    if (writes == "mixed" && !host->set_write_modes(modes_at(0)).ok()) {
      state.SkipWithError("refused");
    }
    state.ResumeTiming();
    const std::size_t steps = writes == "changing" ? kChanges : 1;
    for (std::size_t step = 0; step < steps; ++step) {
      const RequestRange range{trace.request_count() * step / steps,
                               trace.request_count() * (step + 1) / steps};
      host->replay(trace, range);
      if (steps > 1 && !host->set_write_modes(modes_at(step)).ok()) state.SkipWithError("refused");
    }
    state.PauseTiming();
    host.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * trace.access_count());
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const std::string& policy, Chain chain, Sharing sharing, const char* name) {
    for (const char* writes : {"none", "through", "back", "around", "mixed", "changing"}) {
      const std::string path =
          fmt::format("writes/{}/{}/{}/{}", policy, name_of(chain), name, writes);
      benchmark::RegisterBenchmark(path.c_str(), [=](benchmark::State& state) {
        replay(state, policy, chain, sharing, writes);
      })->Unit(benchmark::kMillisecond);
    }
  };
  for (const char* policy : {"lru", "arc", "s3-fifo"}) {
    for (const auto& [name, chain] : Choices<Chain>::names) {
      add(policy, chain, Sharing::kEager, "eager");
    }
    add(policy, Chain::kExclusive, Sharing::kAll, "shared");
    add(policy, Chain::kExclusive, Sharing::kLazy, "lazy");
  }
  return true;
}();

}  // namespace
}  // namespace mcsim
