#include "core/locality/distances/piece_distances.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/guarded.hpp"
#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {
namespace {

// Accesses after which the pages behind them are released.
constexpr std::size_t kReleaseEvery = std::size_t{1} << 20;

// The prefetch distance, in accesses.
constexpr std::size_t kAhead = 64;

class Seen {
 public:
  explicit Seen(std::size_t unique) : words_(unique / 64 + 1) {}

  void prefetch(BlockId block) const { __builtin_prefetch(&words_[block / 64], 1); }
  // Returns true if the block is new.
  bool insert(BlockId block) {
    const std::uint64_t bit = std::uint64_t{1} << block % 64;
    std::uint64_t& word = words_[block / 64];
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
};

DistanceHistogram counted(std::span<const BlockId> trace, std::size_t begin, std::size_t end,
                          std::size_t unique, Count limit) {
  assert(begin <= end && end <= trace.size() && limit >= 0);
  const std::size_t most = limit == 0 ? unique : static_cast<std::size_t>(limit);
  const std::vector<BlockId> stack = stack_after(trace.first(begin), unique, most);
  DenseDistances distances(unique, numbers_of(std::span<const BlockId>(stack)));
  for_each_part(trace.subspan(begin, end - begin),
                [&](std::span<const BlockId> part) { distances.process(numbers_of(part)); });
  DistanceHistogram found = distances.histogram();
  if (limit > 0) found.truncate(limit);
  return found;
}

}  // namespace

std::vector<BlockId> stack_after(std::span<const BlockId> blocks, std::size_t unique,
                                 std::size_t most) {
  std::vector<BlockId> stack;
  stack.reserve(std::min({most, unique, blocks.size()}));  // reserves addresses, not memory
  Seen seen(unique);
  while (!blocks.empty() && stack.size() < most) {
    const auto part = blocks.last(std::min(kReleaseEvery, blocks.size()));
    for (std::size_t i = part.size(); i-- > 0 && stack.size() < most;) {
      if (i >= kAhead) seen.prefetch(part[i - kAhead]);
      if (seen.insert(part[i])) stack.push_back(part[i]);
    }
    advise_dont_need(part);
    blocks = blocks.first(blocks.size() - part.size());
  }
  std::ranges::reverse(stack);
  return stack;
}

absl::StatusOr<DistanceHistogram> distances_of_piece(std::span<const BlockId> trace,
                                                     std::size_t begin, std::size_t end,
                                                     std::size_t unique, Count limit) {
  return guarded("distances of a piece", [&]() -> absl::StatusOr<DistanceHistogram> {
    return counted(trace, begin, end, unique, limit);
  });
}

}  // namespace mcsim
