#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// LRU stacks cut into tiers, without linked lists.
//
// A stack is a log: every access appends its block, so reading the log backwards
// gives the blocks by recency, if older entries of the same block are skipped.
// `last_` remembers where a block's newest entry is; the entry it had before
// becomes a hole. Tier k is the stretch between two boundaries: an access learns
// the tier it hits by comparing one position with them, and pushing the least
// recently used block of a tier into the next just moves a boundary over it and
// over the holes before it. When a log is full its holes are squeezed out.
//
//            boundary[1]        boundary[0]               end
//   … gone …  | d . e . . f      | g . a b . c             |
//              tier 1: f e d      tier 0: c b a g
//
// All stacks share `last_` (a block belongs to one stack) and one array of log
// entries, in which each has a segment; positions are indices into that array,
// so a future access can be prefetched without knowing its stack.
//
// Cost: an access touches its block's `last_` and its old entry, both
// prefetchable, and appends; boundaries and squeezing read sequentially,
// amortised O(tiers). 4 bytes per block of the universe, kSlack * 4 per block
// that a stack can hold.
template <int kTiers>
class RecencyLog {
 public:
  using Position = std::uint32_t;

  struct Stack {
    // boundary[k]: where tier k ends, towards older entries.
    std::array<Position, kTiers> boundary;
    Position begin;  // of the segment
    Position limit;  // squeeze when end gets here
    Position stop;   // of the segment
    Position end;    // where the next access goes
  };

  // Log entries for each block a stack can hold: more means rarer squeezing.
  static constexpr std::uint64_t kSlack = 4;
  static constexpr std::uint64_t kMinimum = 64;

  static constexpr std::uint64_t segment_size(std::uint64_t blocks) {
    return kSlack * blocks + kMinimum;
  }

  // `most_blocks[s]`: the most blocks stack s will ever hold at once, plus one
  // for the moment between an insertion and its eviction. The segments must not
  // exceed 2^32 - 2 entries in all.
  RecencyLog(std::size_t universe, std::span<const std::uint64_t> most_blocks)
      : last_(universe, 0) {
    Position at = 1;  // position 0 means: in no stack
    for (const std::uint64_t blocks : most_blocks) {
      const auto stop = static_cast<Position>(at + segment_size(blocks));
      Stack stack{.boundary = {}, .begin = at, .limit = stop, .stop = stop, .end = at};
      stack.boundary.fill(at);
      stacks_.push_back(stack);
      at = stop;
    }
    log_.assign(at, kNoBlock);
  }

  // Moves the block to the top of the stack; the tier it was in, or kTiers if
  // in none.
  int access(std::size_t s, BlockId id) {
    Stack& stack = stacks_[s];
    if (stack.end == stack.limit) squeeze(stack);
    const Position old = last_[id];
    log_[old] = kNoBlock;
    last_[id] = stack.end;
    log_[stack.end++] = id;
    int tier = 0;
    for (int k = 0; k < kTiers; ++k) tier += old < stack.boundary[static_cast<std::size_t>(k)];
    return tier;
  }

  // Pushes the least recently used block of a tier that is not empty into the
  // next one, or out of the stack; returns it.
  BlockId demote(std::size_t s, std::size_t tier) {
    Position& boundary = stacks_[s].boundary[tier];
    while (log_[boundary] == kNoBlock) ++boundary;
    const BlockId id = log_[boundary++];
    if (tier + 1 == kTiers) last_[id] = 0;
    return id;
  }

  // Takes the block out; the tier it was in, or kTiers if in none.
  int remove(std::size_t s, BlockId id) {
    const Position old = std::exchange(last_[id], 0);
    log_[old] = kNoBlock;
    int tier = 0;
    for (const Position boundary : stacks_[s].boundary) tier += old < boundary;
    return tier;
  }

  // The two lines an access will touch; `prefetch_entry` expects that
  // `prefetch_last` was called some accesses before.
  void prefetch_last(BlockId id) const { __builtin_prefetch(&last_[id], 1); }
  void prefetch_entry(BlockId id) const { __builtin_prefetch(&log_[last_[id]], 1); }

  // Calls visit(tier, id) for every block of the stack, oldest first.
  template <class Visit>
  void for_each(std::size_t s, Visit visit) const {
    const Stack& stack = stacks_[s];
    for (Position at = stack.boundary[kTiers - 1]; at < stack.end; ++at) {
      if (log_[at] == kNoBlock) continue;
      int tier = 0;
      for (const Position boundary : stack.boundary) tier += at < boundary;
      visit(static_cast<std::size_t>(tier), log_[at]);
    }
  }

  // Whether `last_` and the log agree on every block of the stack.
  bool consistent(std::size_t s) const {
    const Stack& stack = stacks_[s];
    for (Position at = stack.boundary[kTiers - 1]; at < stack.end; ++at) {
      if (log_[at] != kNoBlock && last_[log_[at]] != at) return false;
    }
    return std::ranges::is_sorted(stack.boundary, std::ranges::greater()) &&
           stack.boundary[kTiers - 1] >= stack.begin && stack.end <= stack.limit;
  }

 private:
  void squeeze(Stack& stack) {
    Position to = stack.begin;
    Position from = stack.boundary[kTiers - 1];
    for (int k = kTiers - 1; k >= 0; --k) {
      stack.boundary[static_cast<std::size_t>(k)] = to;
      // Boundaries are rewritten from the oldest on: the next younger one still stands.
      const Position until = k == 0 ? stack.end : stack.boundary[static_cast<std::size_t>(k - 1)];
      for (; from < until; ++from) {
        const BlockId id = log_[from];
        if (id == kNoBlock) continue;
        log_[to] = id;
        last_[id] = to++;
      }
    }
    stack.end = to;
    // A stack with few blocks re-uses the start of its segment: less memory touched.
    const std::uint64_t roomy = stack.begin + segment_size(to - stack.begin);
    stack.limit = static_cast<Position>(std::min<std::uint64_t>(roomy, stack.stop));
  }

  std::vector<Position> last_;  // by block: its newest entry, 0 if in no stack
  std::vector<BlockId> log_;    // kNoBlock: a hole
  std::vector<Stack> stacks_;
};

}  // namespace mcsim
