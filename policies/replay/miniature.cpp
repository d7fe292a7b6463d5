#include "policies/replay/miniature.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/guarded.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/engine/policy/next_use.hpp"

namespace mcsim {
namespace {

// The references to the sampled blocks, which are renumbered.
struct Sample {
  double rate = 1;
  Pages<BlockId> blocks;
  Pages<std::uint8_t> ops;  // empty if all are reads
  Pages<NextUse> next_uses;
  Pages<Nanoseconds> times;      // empty if no cache reads them
  Pages<std::uint32_t> weights;  // empty if capacities are in blocks
  std::vector<DiscardedBlock> discards;
  SharedTrace trace;
};

// Samples by requested rate, the highest first.
using Samples = std::map<double, Sample, std::greater<>>;

// Renumber blocks below `unique` in the order of their first access, and return their number.
// Discards of other blocks are removed.
std::size_t number_anew(std::span<BlockId> blocks, std::vector<DiscardedBlock>& discards,
                        std::size_t unique) {
  Pages<std::uint32_t> number_after(unique);
  std::uint32_t count = 0;
  for (BlockId& block : blocks) {
    std::uint32_t& after = number_after[block];
    if (after == 0) after = ++count;
    block = BlockId(after - 1);
  }
  std::erase_if(discards, [&](const auto& discard) { return number_after[discard.block] == 0; });
  for (DiscardedBlock& discard : discards) discard.block = BlockId(number_after[discard.block] - 1);
  return count;
}

absl::Status add_next_uses(Sample& sample) {
  AccessBatch<>& accesses = sample.trace.accesses;
  MCSIM_ASSIGN_OR_RETURN(sample.next_uses,
                         next_uses(accesses.blocks, sample.trace.unique, 1, sample.trace.discards));
  accesses.next_uses = {sample.next_uses.data(), accesses.blocks.size()};
  return absl::OkStatus();
}

// Return the values of a column for the sampled accesses.
template <class T>
Pages<T> select_values(const SpatialFilter& filter, std::span<const BlockId> blocks,
                       std::span<const T> column, std::size_t picked) {
  Pages<T> values(picked);
  std::size_t count = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (filter.samples(blocks[i])) values[count++] = column[i];
  }
  return values;
}

// Return the discards of sampled blocks, positioned by the number of sampled accesses before them.
std::vector<DiscardedBlock> select_discards(const SpatialFilter& filter,
                                            std::span<const BlockId> blocks,
                                            std::span<const DiscardedBlock> discards) {
  std::vector<DiscardedBlock> picked;
  std::size_t access = 0;
  std::size_t before = 0;
  for (const auto& [position, block] : discards) {
    for (; access < position; ++access) before += filter.samples(blocks[access]) ? 1 : 0;
    if (filter.samples(block)) picked.push_back({before, block});
  }
  return picked;
}

// Draw each sample from the one with the next higher rate, which contains it. Buffers are sized for
// the worst case; their unused pages take no memory.
Samples draw(const AccessBatch<>& all, std::span<const DiscardedBlock> discards, std::size_t unique,
             std::span<const double> rates, std::uint64_t seed) {
  Samples samples;
  for (const double rate : rates) {
    if (rate < 1) samples[rate];
  }
  AccessBatch<> from = all;
  for (auto& [rate, sample] : samples) {
    const SpatialFilter filter(rate, seed);
    AccessBatch<>& picked = sample.trace.accesses;
    sample.rate = filter.rate();
    sample.blocks = Pages<BlockId>(from.blocks.size());
    std::span<BlockId> room(sample.blocks.data(), from.blocks.size());
    for_each_part(from.blocks, [&](std::span<const BlockId> part) {
      room = room.subspan(filter.select(numbers_of(part), numbers_of(room)));
    });
    const std::size_t count = from.blocks.size() - room.size();
    picked.blocks = {sample.blocks.data(), count};
    if (!from.ops.empty()) {
      sample.ops = select_values(filter, from.blocks, from.ops, count);
      picked.ops = {sample.ops.data(), count};
    }
    if (!from.times.empty()) {
      sample.times = select_values(filter, from.blocks, from.times, count);
      picked.times = {sample.times.data(), count};
    }
    if (!from.weights.empty()) {
      sample.weights = select_values(filter, from.blocks, from.weights, count);
      picked.weights = {sample.weights.data(), count};
    }
    sample.discards = select_discards(filter, from.blocks, discards);
    discards = sample.discards;
    from = picked;
  }
  for (auto& [rate, sample] : samples) {
    const std::size_t count = sample.trace.accesses.blocks.size();
    sample.trace.unique = number_anew({sample.blocks.data(), count}, sample.discards, unique);
    sample.trace.discards = sample.discards;
  }
  return samples;
}

// Return the whole trace as a sample at rate 1.
Sample everything(const AccessBatch<>& all, std::size_t unique,
                  std::span<const DiscardedBlock> discards) {
  Sample sample;
  sample.trace = {.accesses = all, .unique = unique, .discards = discards};
  return sample;
}

class Miniatures {
 public:
  Miniatures(const AccessBatch<>& all, std::size_t unique, std::span<const CacheConfig> configs,
             const MiniatureOptions& options, bool with_next_uses)
      : all_(all),
        unique_(unique),
        configs_(configs),
        options_(options),
        with_next_uses_(with_next_uses),
        whole_(everything(all, unique, options.simulate.discards)),
        results_(options.seeds.size() * configs.size()) {
    for (const CacheConfig& config : configs) {
      rates_.push_back(miniature_rate(config.capacity, options));
    }
  }

  absl::StatusOr<std::vector<Miniature>> run() {
    const bool any_whole = std::ranges::find(rates_, 1.0) != rates_.end();
    if (with_next_uses_ && any_whole) MCSIM_RETURN_IF_ERROR(add_next_uses(whole_));
    for (std::size_t s = 0; s < options_.seeds.size(); ++s) {
      MCSIM_RETURN_IF_ERROR(run_seed(s));
    }
    return std::move(results_);
  }

 private:
  absl::Status run_seed(std::size_t s) {
    Samples samples = draw(all_, options_.simulate.discards, unique_, rates_, options_.seeds[s]);
    for (auto& [rate, sample] : samples) {
      if (with_next_uses_) MCSIM_RETURN_IF_ERROR(add_next_uses(sample));
    }
    std::vector<const SharedTrace*> traces;
    std::vector<CacheConfig> miniatures;
    std::vector<Miniature*> wanted;
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      Miniature& result = results_[s * configs_.size() + i];
      const bool is_whole = rates_[i] == 1;
      if (is_whole && s > 0) {
        result = results_[i];
        continue;
      }
      const Sample& sample = is_whole ? whole_ : samples.at(rates_[i]);
      result.rate = sample.rate;
      result.capacity = miniature_capacity(configs_[i].capacity, sample.rate);
      traces.push_back(&sample.trace);
      miniatures.push_back(configs_[i]);
      miniatures.back().capacity = result.capacity;
      wanted.push_back(&result);
    }
    SimulateOptions options = options_.simulate;
    options.requests = {};
    if (options.tick) {
      options.tick = [&](Count done) { return options_.simulate.tick(done_ + done); };
    }
    MCSIM_ASSIGN_OR_RETURN(const auto caches, simulate_each(traces, miniatures, options));
    for (std::size_t k = 0; k < caches.size(); ++k) {
      wanted[k]->cache = caches[k];
      done_ += caches[k].counts.accesses;
    }
    return absl::OkStatus();
  }

  AccessBatch<> all_;
  std::size_t unique_;
  std::span<const CacheConfig> configs_;
  const MiniatureOptions& options_;
  bool with_next_uses_;
  Sample whole_;
  std::vector<double> rates_;
  std::vector<Miniature> results_;
  Count done_ = 0;
};

}  // namespace

double miniature_rate(Count capacity, const MiniatureOptions& options) {
  const auto blocks = static_cast<double>(capacity);
  const auto fewest = static_cast<double>(options.min_blocks);
  double rate = options.rate;
  while (rate < 1 && rate * blocks < fewest) rate *= 2;
  return rate * static_cast<double>(std::max<std::size_t>(options.seeds.size(), 1)) < 1 ? rate : 1;
}

absl::StatusOr<std::vector<Miniature>> miniatures(std::span<const BlockId> blocks,
                                                  std::span<const std::uint8_t> ops,
                                                  std::size_t unique,
                                                  std::span<const CacheConfig> configs,
                                                  const MiniatureOptions& options) {
  if (!(options.rate > 0 && options.rate <= 1)) {
    return out_of_range("rate: {} is outside (0, 1]", options.rate);
  }
  if (options.min_blocks < 1) {
    return out_of_range("min_blocks: expected at least 1, got {}", options.min_blocks);
  }
  if (options.seeds.empty()) return invalid_argument("seeds: expected at least one");
  if (!ops.empty() && ops.size() != blocks.size()) {
    return invalid_argument("{} operations of {} accesses", ops.size(), blocks.size());
  }
  return guarded("miniatures", [&]() -> absl::StatusOr<std::vector<Miniature>> {
    const SimulateOptions& simulate = options.simulate;
    const bool weighs = !simulate.weights.empty();
    MCSIM_RETURN_IF_ERROR(check_weights(simulate, blocks.size()));
    MCSIM_ASSIGN_OR_RETURN(const bool with_next_uses, check_configs(configs, weighs));
    MCSIM_RETURN_IF_ERROR(check_blocks(blocks, unique));
    MCSIM_RETURN_IF_ERROR(check_discards(simulate.discards, blocks.size(), unique));
    MCSIM_RETURN_IF_ERROR(check_times(configs, simulate.times, blocks.size(), weighs));
    const AccessBatch<> all{
        .blocks = blocks, .ops = ops, .times = simulate.times, .weights = simulate.weights};
    return Miniatures(all, unique, configs, options, with_next_uses).run();
  });
}

}  // namespace mcsim
