// Speed of eviction policies, in accesses a second of the thread's own CPU time, on
// one interned trace; `state` is what a cache holds for each block of its capacity,
// `index` what it holds for each of the trace. Misses that others have counted are
// held to be ours: a run that differs is an error.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/containers/block_table.hpp"
#include "core/containers/key_index.hpp"
#include "core/engine/policy/next_use.hpp"
#include "policies/eviction/arc.hpp"
#include "policies/eviction/lru.hpp"
#include "policies/registry/eviction.hpp"
#include "policies/replay/simulate.hpp"

namespace mcsim {
namespace {

constexpr Count kCapacity = 200'000;

__extension__ using Wide = unsigned __int128;

constexpr Wide wide(std::uint64_t high, std::uint64_t low) {
  return static_cast<Wide>(high) << 64 | low;
}

// NumPy's PCG64 (O'Neill, 2014: XSL-RR) as seeded by 20240901.
class Pcg64 {
 public:
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t next() {
    state_ = state_ * wide(2549297995355413924ULL, 4865540595714422341ULL) + kIncrement;
    const auto folded = static_cast<std::uint64_t>(state_ >> 64 ^ state_);
    const auto turn = static_cast<int>(state_ >> 122);
    return folded >> turn | folded << (-turn & 63);
  }

  static constexpr Wide kIncrement = wide(0x20551ddcd5fbf93bULL, 0xdb1f06a5374f1535ULL);
  Wide state_ = wide(0x512b3fe82a7c4224ULL, 0xe80de760ab8c35a6ULL);
};

struct Trace {
  Pages<BlockId> blocks;
  std::size_t unique = 0;
  Pages<NextUse> next_uses;

  std::span<const BlockId> block_span() const { return {blocks.data(), blocks.size()}; }
};

// 20 M accesses, Zipf(0.9) over 2 M blocks, as by NumPy's searchsorted; the blocks are
// numbered as they first appear, so that it does not matter what they are called.
const Trace& zipf20m_np() {
  static const Trace made = [] {
    constexpr std::size_t kAccesses = 20'000'000;
    std::vector<double> cumulative(2'000'000);
    double sum = 0;
    for (std::size_t i = 0; i < cumulative.size(); ++i) {
      sum += std::pow(static_cast<double>(i + 1), -0.9);
      cumulative[i] = sum;
    }
    for (double& share : cumulative) share /= sum;

    Pcg64 random;
    Pages<std::uint64_t> keys(kAccesses);
    for (std::uint64_t& key : keys) {
      const auto found = std::ranges::upper_bound(cumulative, random.uniform());
      key = static_cast<std::uint64_t>(found - cumulative.begin());
    }
    BlockTable table;
    Trace trace;
    trace.blocks = Pages<BlockId>(kAccesses);
    table.number({keys.data(), kAccesses}, numbers_of(std::span(trace.blocks.data(), kAccesses)));
    trace.unique = table.size();
    trace.next_uses = next_uses(trace.block_span(), trace.unique).value();
    return trace;
  }();
  return made;
}

// By libCacheSim 0.3.5, and where it has them by Caffeine's simulator 3.2.4.
Count published_misses(std::string_view policy, const ParamMap& params) {
  static const std::map<std::string_view, Count> published{
      {"lru", 7'154'074},     {"fifo", 7'888'310}, {"clock", 6'963'683},
      {"sieve", 6'118'984},   {"lfu", 6'118'984},  {"2q", 6'344'648},
      {"s3-fifo", 6'044'270}, {"arc", 6'135'299},  {"opt", 4'252'806},
  };
  if (policy == "arc" && !params.empty()) return 6'135'621;
  if (policy == "s3-fifo" && !params.empty()) return 6'019'959;
  if (policy == "s4lru" && !params.empty()) return 6'147'507;
  const auto found = published.find(policy);
  return found == published.end() ? -1 : found->second;
}

void replay(benchmark::State& state, const std::string& policy, const ParamMap& params) {
  const Trace& trace = zipf20m_np();
  const PolicySetup setup{
      .capacity = kCapacity, .blocks = trace.unique, .trace = trace.block_span()};
  Count misses = 0;
  double bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto cache = eviction_registry().make(policy, params, setup).value();
    state.ResumeTiming();
    const absl::Status replayed =
        cache->replay({.blocks = trace.block_span(),
                       .next_uses = {trace.next_uses.data(), trace.next_uses.size()}});
    state.PauseTiming();
    if (!replayed.ok() || !cache->check().ok()) state.SkipWithError("failed");
    misses = cache->counts().misses();
    bytes = static_cast<double>(cache->bytes());
    cache.reset();
    state.ResumeTiming();
  }
  if (const Count expected = published_misses(policy, params);
      expected >= 0 && misses != expected) {
    state.SkipWithError("the misses are not those published");
  }
  const auto unique = static_cast<double>(trace.unique);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.blocks.size()));
  state.counters["misses"] = static_cast<double>(misses);
  state.counters["index"] = sizeof(Slot);
  state.counters["state"] = (bytes - sizeof(Slot) * unique) / static_cast<double>(kCapacity);
}

// The same accesses by raw key.
template <class P>
void replay_keys(benchmark::State& state) {
  const Trace& trace = zipf20m_np();
  Pages<std::uint64_t> keys(trace.blocks.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix64(trace.blocks[i]);
  CacheCounts counts;
  double bytes = 0;
  NullSink nobody;
  for (auto _ : state) {
    state.PauseTiming();
    counts = {};
    auto cache = std::make_unique<Cache<P, KeyIndex>>(
        typename P::Params{}, PolicySetup{.capacity = kCapacity}, KeyIndex());
    state.ResumeTiming();
    cache->replay({.blocks = {keys.data(), keys.size()}}, counts, nobody);
    state.PauseTiming();
    bytes = static_cast<double>(cache->bytes());
    cache.reset();
    state.ResumeTiming();
  }
  if (counts.misses() != published_misses(P::kInfo.name, {})) {
    state.SkipWithError("the misses are not those published");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
  state.counters["misses"] = static_cast<double>(counts.misses());
  state.counters["state"] = bytes / static_cast<double>(kCapacity);
}

// Eight sizes of one policy, by a replay each or in one pass; items are accesses to any
// of the caches, on a clock.
void eight_sizes(benchmark::State& state, bool one_pass) {
  const Trace& trace = zipf20m_np();
  std::vector<CacheConfig> configs;
  for (int size = 0; size < 8; ++size) configs.push_back({"lru", {}, kCapacity / 16 << size});
  for (auto _ : state) {
    const auto results =
        simulate(trace.block_span(), {}, trace.unique, configs,
                 {.threads = static_cast<int>(state.range(0)), .one_pass = one_pass});
    if (!results.ok()) state.SkipWithError("failed");
  }
  state.SetItemsProcessed(state.iterations() * 8 * static_cast<std::int64_t>(trace.blocks.size()));
}

const bool registered = [] {
  const auto add = [](const std::string& policy, const ParamMap& params, const std::string& note) {
    benchmark::RegisterBenchmark(("policies/" + policy + note).c_str(),
                                 [=](benchmark::State& state) { replay(state, policy, params); })
        ->Unit(benchmark::kMillisecond);
  };
  for (const auto& entry : eviction_policies()) add(entry.info.name, {}, "");
  add("arc", {{"step", std::string("integer")}}, "/integer");
  add("s3-fifo", {{"variant", std::string("libcachesim")}}, "/libcachesim");
  add("s4lru", {{"fill", true}}, "/fill");
  benchmark::RegisterBenchmark("policies/keys/lru", replay_keys<Lru>)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("policies/keys/arc", replay_keys<Arc>)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("policies/eight_sizes_of_lru",
                               [](benchmark::State& state) { eight_sizes(state, false); })
      ->Arg(1)
      ->Arg(2)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  benchmark::RegisterBenchmark("policies/eight_sizes_of_lru/one_pass",
                               [](benchmark::State& state) { eight_sizes(state, true); })
      ->Arg(1)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  return true;
}();

}  // namespace
}  // namespace mcsim
