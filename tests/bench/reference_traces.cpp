#include "tests/bench/reference_traces.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/base/random.hpp"
#include "core/containers/block_table.hpp"

namespace mcsim::bench {
namespace {

// xoshiro256** seeded by consecutive outputs of splitmix64, as its authors advise.
Random seeded(std::uint64_t seed) {
  constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ULL;  // which mix64 adds once itself
  return Random::from_state(
      {mix64(seed), mix64(seed + kStep), mix64(seed + 2 * kStep), mix64(seed + 3 * kStep)});
}

class Zipf {
 public:
  Zipf(std::size_t items, double exponent) : cumulative_(items) {
    double sum = 0;
    for (std::size_t i = 0; i < items; ++i) {
      sum += 1 / std::pow(static_cast<double>(i) + 1, exponent);
      cumulative_[i] = sum;
    }
    for (double& share : cumulative_) share /= sum;
  }
  std::size_t operator()(Random& random) const {
    const auto found = std::ranges::lower_bound(cumulative_, random.uniform());
    return static_cast<std::size_t>(found - cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

std::vector<std::uint32_t> permutation(std::size_t items, Random& random) {
  std::vector<std::uint32_t> order(items);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = items - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

void make_zipf(Pages<std::uint64_t>& keys, std::size_t blocks) {
  Random random = seeded(1);
  const Zipf zipf(blocks, 0.9);
  const auto scrambled = permutation(blocks, random);
  for (std::uint64_t& key : keys) key = scrambled[zipf(random)];
}

void make_uniform(Pages<std::uint64_t>& keys) {
  Random random = seeded(2);
  for (std::uint64_t& key : keys) key = random.below(10'000'000);
}

// Single Zipf accesses among runs of 16 to 48 consecutive blocks from one of three
// loops or from a scan that never comes back.
void make_mix(Pages<std::uint64_t>& keys) {
  constexpr double kZipf = 0.4;
  constexpr double kLoops = 0.4 / 32;
  constexpr double kScan = 0.2 / 32;
  struct Loop {
    double up_to;  // share of the runs, cumulative
    std::uint64_t first;
    std::uint64_t length;
    std::uint64_t at = 0;
  };
  Loop loops[] = {{0.1, 1U << 24, 200'000}, {0.4, 1U << 25, 1'000'000}, {1, 1U << 26, 4'000'000}};
  std::uint64_t scan = std::uint64_t{1} << 30;
  Random random = seeded(3);
  const Zipf zipf(1'000'000, 1.0);
  const auto scrambled = permutation(1'000'000, random);
  for (std::size_t i = 0; i < keys.size();) {
    const double kind = random.uniform() * (kZipf + kLoops + kScan);
    if (kind < kZipf) {
      keys[i++] = scrambled[zipf(random)];
      continue;
    }
    const std::size_t end = std::min(i + 16 + random.below(33), keys.size());
    if (kind < kZipf + kLoops) {
      const double which = random.uniform();
      Loop& loop = *std::ranges::find_if(loops, [&](const Loop& l) { return which < l.up_to; });
      for (; i < end; loop.at = (loop.at + 1) % loop.length) keys[i++] = loop.first + loop.at;
    } else {
      while (i < end) keys[i++] = scan++;
    }
  }
}

}  // namespace

const ReferenceTrace& reference_trace(Stream stream) {
  constexpr const char* kNames[] = {"zipf", "uniform", "mix", "zipf-large"};
  static std::unique_ptr<ReferenceTrace> trace;
  static Stream made{};
  if (trace != nullptr && made == stream) return *trace;
  trace.reset();  // before the next takes as much memory
  trace = std::make_unique<ReferenceTrace>();
  made = stream;
  trace->name = kNames[static_cast<std::size_t>(stream)];
  trace->keys = Pages<std::uint64_t>(stream == Stream::kZipfLarge ? 100'000'000 : 20'000'000);
  switch (stream) {
    case Stream::kZipf:
      make_zipf(trace->keys, 2'000'000);
      break;
    case Stream::kZipfLarge:
      make_zipf(trace->keys, 17'000'000);
      break;
    case Stream::kUniform:
      make_uniform(trace->keys);
      break;
    case Stream::kMix:
      make_mix(trace->keys);
      break;
  }
  BlockTable table;
  trace->blocks = Pages<std::uint32_t>(trace->keys.size());
  table.number(trace->key_span(), {trace->blocks.data(), trace->blocks.size()});
  trace->unique = table.size();
  return *trace;
}

}  // namespace mcsim::bench
