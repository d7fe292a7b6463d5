#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/archive.hpp"
#include "core/containers/recency_log.hpp"

// The state of a stack of RecencyLog: its blocks, the oldest first, and their number by tier.
namespace mcsim {

template <int kTiers, class Last>
void save_stack(const RecencyLog<kTiers, Last>& log,
                const typename RecencyLog<kTiers, Last>::Stack& stack, ArchiveWriter& to) {
  std::vector<BlockId> blocks;
  std::array<std::uint64_t, kTiers> sizes{};
  log.for_each(stack, [&](std::size_t tier, BlockId id) {
    blocks.push_back(id);
    ++sizes[tier];
  });
  to(blocks, sizes);
}

// Load an empty stack.
template <int kTiers, class Last>
void load_stack(RecencyLog<kTiers, Last>& log, typename RecencyLog<kTiers, Last>::Stack& stack,
                ArchiveReader& from) {
  using Log = RecencyLog<kTiers, Last>;
  const std::vector<BlockId> blocks = from.read_blocks();
  std::array<std::uint64_t, kTiers> sizes{};
  from(sizes);
  if (Log::kSlack * blocks.size() > stack.stop - stack.begin ||
      !std::ranges::all_of(sizes, [&](auto size) { return size <= blocks.size(); }) ||
      std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) != blocks.size()) {
    return from.fail(data_loss("a stack of {} blocks has tiers of other sizes", blocks.size()));
  }
  for (const BlockId id : blocks) {
    if (log.contains(id)) return from.fail(data_loss("block {} is in two stacks", id));
    log.move_up(stack, id);
  }
  typename Log::Position begin = stack.begin;
  for (std::size_t tier = kTiers; tier-- > 0;) {
    stack.boundary[tier] = begin;
    begin += static_cast<typename Log::Position>(sizes[tier]);
  }
}

}  // namespace mcsim
