#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// LRU stacks divided into tiers, without linked lists.
//
// A stack is a log: every access appends its block, so reading the log backwards gives the blocks
// by recency, without older entries of the same block. `last_` stores the position of each block's
// newest entry; its previous entry becomes a hole. Tier k lies between two boundaries: an access
// finds its tier by comparing one position with them. Demoting the least recently used block of a
// tier moves a boundary over its entry and over the holes before it. A full log is compacted.
//
//            boundary[1]        boundary[0]               end
//   … gone …  | d . e . . f      | g . a b . c             |
//              tier 1: f e d      tier 0: c b a g
//
// All stacks share three arrays: `last_`, the log entries, of which each stack has a segment, and
// one bit per entry that marks holes. `last_` is an array or a column of a table, since a block
// belongs to one stack. Positions are indices into the entries, so a future access can be
// prefetched without knowing its stack.
//
// Cost: an access reads its block's `last_`, which can be prefetched, sets the bit of its old entry
// and appends. Boundaries and compaction read sequentially: amortised O(tiers). Memory: 4 bytes per
// block of the universe, kSlack * 4.1 per block that a stack can hold.
template <int kTiers, class Last = Pages<std::uint32_t>>
class RecencyLog {
 public:
  using Position = std::uint32_t;
  static constexpr int kTierCount = kTiers;

  struct Stack {
    // boundary[k]: the end of tier k on the older side.
    std::array<Position, kTiers> boundary;
    Position begin;  // of the segment
    Position limit;  // compact when `end` reaches this
    Position stop;   // of the segment
    Position end;    // position of the next access
  };

  // Log entries for each block a stack can hold: more means rarer compaction.
  static constexpr std::uint64_t kSlack = 4;
  static constexpr std::uint64_t kMinimum = 64;

  // Rounded down to whole words of bits.
  static constexpr std::uint64_t segment_size(std::uint64_t blocks) {
    return (kSlack * blocks + kMinimum) / kWord * kWord;
  }

  // The entries that the stacks need. `most_blocks[s]`: the most blocks that stack s will ever hold
  // at once, plus one for the moment between an insertion and its eviction.
  static std::uint64_t entries(std::span<const std::uint64_t> most_blocks) {
    std::uint64_t entries = kWord;
    for (const std::uint64_t blocks : most_blocks) entries += segment_size(blocks) + kWord;
    return entries;
  }

  // Empty stacks, with less than 2^32 entries in all.
  static std::vector<Stack> stacks(std::span<const std::uint64_t> most_blocks) {
    std::vector<Stack> stacks;
    Position at = kWord;  // 0 is the position of blocks that are in no stack
    for (const std::uint64_t blocks : most_blocks) {
      const auto stop = static_cast<Position>(at + segment_size(blocks));
      stacks.push_back(empty(at, stop));
      at = stop + kWord;  // no holes between segments: a scan beyond a segment stops here
    }
    return stacks;
  }

  // For all stacks that stacks() returned.
  RecencyLog(std::size_t universe, std::span<const Stack> stacks)
      : RecencyLog(Last(universe), stacks) {}
  // `last`: must be 0 for every block.
  RecencyLog(Last last, std::span<const Stack> stacks)
      : last_(std::move(last)),
        log_(stacks.back().stop + kWord),
        holes_(stacks.back().stop / kWord + 2) {}

  // Move the block to the top of the stack. Return the tier it was in, or kTiers if it was in none.
  [[gnu::always_inline]] std::size_t access(Stack& stack, const auto& id) {
    return tier_of(move_up(stack, id), stack);
  }
  // The same, but return the block's old position.
  [[gnu::always_inline]] Position move_up(Stack& stack, const auto& id) {
    if (stack.end == stack.limit) [[unlikely]]
      compact(stack);
    assert(stack.end < stack.limit);
    const Position old = std::exchange(last_[id], stack.end);
    mark_hole(old);
    log_[stack.end++] = id;
    return old;
  }

  // Demote the least recently used block of a nonempty tier to the next tier, or evict it from the
  // stack, and return it. On eviction, `next` is set to a block that may be evicted soon.
  [[gnu::always_inline]] BlockId demote(Stack& stack, std::size_t tier, BlockId* next = nullptr) {
    const Position at = entry_from(stack.boundary[tier]);
    assert(at < (tier == 0 ? stack.end : stack.boundary[tier - 1]));
    stack.boundary[tier] = at + 1;
    const BlockId id = log_[at];
    prefetch_line(&log_[at] + kEntriesAhead);
    if (tier + 1 == kTiers) {
      const BlockId ahead = log_[some_ahead(at)];
      prefetch(ahead);
      if (next != nullptr) *next = ahead;
      last_[id] = 0;
    }
    return id;
  }

  // Remove the block. Return the tier it was in, or kTiers if it was in none.
  std::size_t remove(const Stack& stack, const auto& id) {
    const Position old = last_[id];
    const std::size_t tier = tier_of(old, stack);
    if (tier == kTiers) return tier;
    last_[id] = 0;
    mark_hole(old);
    return tier;
  }

  // The tier of the block, or kTiers if it is in none.
  std::size_t tier(const Stack& stack, BlockId id) const { return tier_of(last_[id], stack); }
  static std::size_t tier_of(Position at, const Stack& stack) {
    std::size_t tier = 0;
    for (const Position boundary : stack.boundary) tier += at < boundary ? 1 : 0;
    return tier;
  }
  bool contains(const auto& id) const { return last_[id] != 0; }

  // Prefetch the data that an access touches.
  void prefetch(BlockId id) const { prefetch_line(&last_[id]); }

  // A block that demote() may return for that tier some calls later, to prefetch its data.
  BlockId peek_victim(const Stack& stack, std::size_t tier) const {
    return log_[some_ahead(stack.boundary[tier])];
  }

  // Call visit(tier, id) for every block of the stack, oldest first.
  template <class Visit>
  void for_each(const Stack& stack, Visit visit) const {
    for (Position at = oldest(stack); at < stack.end; at = entry_from(at + 1)) {
      visit(tier_of(at, stack), log_[at]);
    }
  }

  // Return whether `last_` and the log agree for every block of the stack.
  bool consistent(const Stack& stack) const {
    for (Position at = oldest(stack); at < stack.end; at = entry_from(at + 1)) {
      if (last_[log_[at]] != at) return false;
    }
    return std::ranges::is_sorted(stack.boundary, std::ranges::greater()) &&
           stack.boundary[kTiers - 1] >= stack.begin && stack.end <= stack.limit;
  }

 private:
  static constexpr Position kWord = 64;
  // Prefetch distances of a scan: kBlocksAhead counts only entries that are not holes, so that
  // every block is prefetched; kEntriesAhead counts all entries.
  static constexpr int kBlocksAhead = 6;
  static constexpr std::size_t kEntriesAhead = 32;

  static Stack empty(Position begin, Position stop) {
    Stack stack{.boundary = {}, .begin = begin, .limit = stop, .stop = stop, .end = begin};
    stack.boundary.fill(begin);
    return stack;
  }

  void mark_hole(Position hole) { holes_[hole / kWord] |= std::uint64_t{1} << (hole % kWord); }

  // The first entry at or after `at` that is not a hole; entries that were never written do not
  // count as holes.
  [[gnu::always_inline]] Position entry_from(Position at) const {
    std::uint64_t entries = ~holes_[at / kWord] >> (at % kWord);
    if (entries == 0) [[unlikely]] {
      at = at / kWord * kWord;
      do {
        at += kWord;
        assert(at / kWord < holes_.size());
      } while ((entries = ~holes_[at / kWord]) == 0);
    }
    return at + static_cast<Position>(std::countr_zero(entries));
  }
  // The entry kBlocksAhead non-holes after this one, if it is within a word of bits.
  [[gnu::always_inline]] Position some_ahead(Position at) const {
    const Position word = at / kWord;
    std::uint64_t entries = ~holes_[word] >> (at % kWord) | ~holes_[word + 1]
                                                                << 1 << (kWord - 1 - at % kWord);
    for (int i = 0; i < kBlocksAhead; ++i) entries &= entries - 1;
    return at + static_cast<Position>(std::countr_zero(entries));
  }
  Position oldest(const Stack& stack) const { return entry_from(stack.boundary[kTiers - 1]); }

  // Remove the holes of a stack.
  [[gnu::noinline]] void compact(Stack& stack) {
    Position to = stack.begin;
    Position from = oldest(stack);
    Position ahead = from;
    for (int i = 0; i < kBlocksAhead; ++i) ahead = entry_from(ahead + 1);
    for (int k = kTiers - 1; k >= 0; --k) {
      stack.boundary[static_cast<std::size_t>(k)] = to;
      // Boundaries are rewritten from the oldest on, so that of the next younger tier is still
      // valid.
      const Position until = k == 0 ? stack.end : stack.boundary[static_cast<std::size_t>(k - 1)];
      for (; from < until; from = entry_from(from + 1)) {
        prefetch(log_[ahead]);
        ahead = entry_from(ahead + 1);
        const BlockId id = log_[from];
        log_[to] = id;
        last_[id] = to++;
      }
    }
    std::fill(&holes_[stack.begin / kWord], &holes_[(stack.end + kWord - 1) / kWord], 0);
    stack.end = to;
    // A stack with few blocks reuses the start of its segment, to touch less memory.
    const std::uint64_t roomy = stack.begin + segment_size(to - stack.begin);
    stack.limit = static_cast<Position>(std::min<std::uint64_t>(roomy, stack.stop));
  }

  Last last_;                   // by block: its newest entry; 0 if it is in no stack
  Pages<BlockId> log_;          // longer than the segments, since scans read beyond them
  Pages<std::uint64_t> holes_;  // one bit per entry
};

}  // namespace mcsim
