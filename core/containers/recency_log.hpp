#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/prefetch.hpp"
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
// All stacks share `last_` (a block belongs to one stack), which is an array of their own or
// a column of a table that others have columns of, one array of log
// entries, in which each has a segment, and a bit an entry that tells the holes;
// positions are indices into that array, so a future access can be prefetched
// without knowing its stack.
//
// Positions may begin higher up (raised): words of `last_` below them are then free for marks at
// blocks that are in no stack, and the access that brings such a block in finds its mark.
//
// Blocks are told by their ids, or by what `last_` takes in place of them.
//
// Cost: an access touches its block's `last_`, prefetchable, and the bit of its old
// entry, and appends; boundaries and squeezing read sequentially, amortised O(tiers).
// 4 bytes per block of the universe, kSlack * 4.1 per block that a stack can hold.
template <int kTiers, class Last = Pages<std::uint32_t>>
class RecencyLog {
 public:
  using Position = std::uint32_t;
  static constexpr int kTierCount = kTiers;

  struct Stack {
    // boundary[k]: where tier k ends, towards older entries.
    std::array<Position, kTiers> boundary;
    // window[k]: where tier k began, towards younger ones, when a window began.
    std::array<Position, kTiers> window;
    Position begin;  // of the segment
    Position limit;  // squeeze when end gets here
    Position stop;   // of the segment
    Position end;    // where the next access goes
  };

  // Log entries for each block a stack can hold: more means rarer squeezing.
  static constexpr std::uint64_t kSlack = 4;
  static constexpr std::uint64_t kMinimum = 64;

  // Whole words of bits.
  static constexpr std::uint64_t segment_size(std::uint64_t blocks) {
    return (kSlack * blocks + kMinimum) / kWord * kWord;
  }

  // Entries that the stacks need. `most_blocks[s]`: the most blocks stack s will ever
  // hold at once, plus one for the moment between an insertion and its eviction.
  static std::uint64_t entries(std::span<const std::uint64_t> most_blocks) {
    std::uint64_t entries = kWord;
    for (const std::uint64_t blocks : most_blocks) entries += segment_size(blocks) + kWord;
    return entries;
  }

  // Empty ones, for less than 2^32 entries in all.
  static std::vector<Stack> stacks(std::span<const std::uint64_t> most_blocks) {
    std::vector<Stack> stacks;
    Position at = kWord;  // below is the mark of blocks that were in no stack yet, 0
    for (const std::uint64_t blocks : most_blocks) {
      const auto stop = static_cast<Position>(at + segment_size(blocks));
      stacks.push_back(empty(at, stop));
      at = stop + kWord;  // none of them is a hole: who looks beyond a segment gets no further
    }
    return stacks;
  }

  // An empty one, higher by marks_for(count): then marks from 0 to that count are below it.
  static std::uint64_t marks_for(std::uint64_t count) { return count / kWord * kWord; }
  static Stack raised(const Stack& stack, Position by) {
    return empty(stack.begin + by, stack.stop + by);
  }

  // For all of those stacks.
  RecencyLog(std::size_t universe, std::span<const Stack> stacks)
      : RecencyLog(Last(universe), stacks) {}
  // `last`: 0 for every block.
  RecencyLog(Last last, std::span<const Stack> stacks)
      : last_(std::move(last)),
        marks_(stacks.front().begin),
        log_(stacks.back().stop + kWord),
        holes_(stacks.back().stop / kWord + 2) {}

  // Of a log that is empty: another one for what it knows of blocks.
  void keep_in(Last last) { last_ = std::move(last); }

  // Moves the block to the top of the stack; the tier it was in, or kTiers if
  // in none.
  [[gnu::always_inline]] std::size_t access(Stack& stack, const auto& id) {
    return tier_of(move_up(stack, id), stack);
  }
  // The same; where it was, or its mark.
  template <bool kMarked = false>
  [[gnu::always_inline]] Position move_up(Stack& stack, const auto& id) {
    make_room(stack);
    const Position old = std::exchange(last_[id], stack.end);
    punch(kMarked ? std::max(old, marks_ - 1) : old);
    log_[stack.end++] = id;
    return old;
  }
  // If there is none for an access, entries move; whether they did.
  [[gnu::always_inline]] bool make_room(Stack& stack) {
    if (stack.end != stack.limit) [[likely]]
      return false;
    squeeze(stack);
    return true;
  }

  // Pushes the least recently used block of a tier that is not empty into the
  // next one, or out of the stack; returns it. If it goes out, `next` is one that may soon follow.
  [[gnu::always_inline]] BlockId demote(Stack& stack, std::size_t tier, BlockId* next = nullptr) {
    const Position at = entry_from(stack.boundary[tier]);
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

  // Takes the block out; the tier it was in, or kTiers if in none.
  std::size_t remove(const Stack& stack, const auto& id) {
    const Position old = last_[id];
    const std::size_t tier = tier_of(old, stack);
    if (tier == kTiers) return tier;
    last_[id] = 0;
    punch(old);
    return tier;
  }

  // The same of a block that is in the stack, and gets a mark; where it was.
  [[gnu::always_inline]] Position take_out(const auto& id, Position mark) {
    const Position was = std::exchange(last_[id], mark);
    punch(was);
    return was;
  }

  // The tier that the block is in, or kTiers if in none.
  std::size_t tier(const Stack& stack, BlockId id) const { return tier_of(last_[id], stack); }
  static std::size_t tier_of(Position at, const Stack& stack) {
    std::size_t tier = 0;
    for (const Position boundary : stack.boundary) tier += at < boundary ? 1 : 0;
    return tier;
  }
  // If none has a mark.
  bool contains(const auto& id) const { return last_[id] != 0; }

  // Where the block is, or its mark; marks are below marks(), and for blocks that are in no stack.
  Position where(const auto& id) const { return last_[id]; }
  Position marks() const { return marks_; }
  Position& mark(const auto& id) { return last_[id]; }
  void mark(const auto& id, Position mark) { last_[id] = mark; }
  // Marks of blocks in [first, end), of which none is lowered below 0.
  void lower_marks(BlockId first, BlockId end, Position by) {
    for (BlockId id = first; id < end; ++id) {
      if (last_[id] < marks_) last_[id] = std::max(last_[id], by) - by;
    }
  }

  // From now on what comes is told from what has been there.
  static void begin_window(Stack& stack) {
    for (std::size_t k = 0; k < kTiers; ++k) stack.window[k] = top(stack, k);
  }
  // Entries that are no holes in [begin, end): of blocks that were accessed since the window began,
  // and are in a tier; and of those that came into one, and are there.
  struct Stretch {
    Position begin;
    Position end;
  };
  static Stretch accessed(const Stack& stack) {
    return {std::max(stack.window[0], stack.boundary[kTiers - 1]), stack.end};
  }
  static Stretch came_in(const Stack& stack, std::size_t tier) {
    return {std::max(stack.window[tier], stack.boundary[tier]), top(stack, tier)};
  }
  Count count(Stretch of) const {
    Count count = 0;
    for (Position word = of.begin / kWord; word * kWord < of.end; ++word) {
      std::uint64_t entries = ~holes_[word];
      if (word == of.begin / kWord) entries &= ~std::uint64_t{0} << (of.begin % kWord);
      if (word == of.end / kWord) entries &= ~(~std::uint64_t{0} << (of.end % kWord));
      count += std::popcount(entries);
    }
    return count;
  }
  template <class Visit>
  void visit(Stretch of, Visit visit) const {
    for (Position at = entry_from(of.begin); at < of.end; at = entry_from(at + 1)) visit(log_[at]);
  }

  // What the entry is of; and whether it is a hole.
  BlockId at(Position at) const { return log_[at]; }
  bool is_hole(Position at) const { return (holes_[at / kWord] >> (at % kWord) & 1) != 0; }

  // Right above the first block of a stack that is there or above; there is one.
  Position after_next(Position at) const { return entry_from(at) + 1; }

  // What an access will touch.
  void prefetch(BlockId id) const { prefetch_line(&last_[id]); }

  // A block that demote may return of that tier some calls later, for who will touch more of it.
  BlockId soon(const Stack& stack, std::size_t tier) const {
    return log_[some_ahead(stack.boundary[tier])];
  }

  // Calls visit(tier, id) for every block of the stack, oldest first.
  template <class Visit>
  void for_each(const Stack& stack, Visit visit) const {
    for (Position at = oldest(stack); at < stack.end; at = entry_from(at + 1)) {
      visit(tier_of(at, stack), log_[at]);
    }
  }

  // Whether `last_` and the log agree on every block of the stack.
  bool consistent(const Stack& stack) const {
    for (Position at = oldest(stack); at < stack.end; at = entry_from(at + 1)) {
      if (last_[log_[at]] != at) return false;
    }
    return std::ranges::is_sorted(stack.boundary, std::ranges::greater()) &&
           stack.boundary[kTiers - 1] >= stack.begin && stack.end <= stack.limit;
  }

 private:
  static constexpr Position kWord = 64;
  // How far ahead who reads the log asks for what it will touch of blocks, and for entries: so many
  // that are no holes, of which none is left out as more of the others would, and so many in all.
  static constexpr int kBlocksAhead = 6;
  static constexpr std::size_t kEntriesAhead = 32;

  static Stack empty(Position begin, Position stop) {
    Stack stack{
        .boundary = {}, .window = {}, .begin = begin, .limit = stop, .stop = stop, .end = begin};
    stack.boundary.fill(begin);
    stack.window.fill(begin);
    return stack;
  }
  // Where the tier begins, towards younger entries.
  static Position top(const Stack& stack, std::size_t tier) {
    return tier == 0 ? stack.end : stack.boundary[tier - 1];
  }

  void punch(Position hole) { holes_[hole / kWord] |= std::uint64_t{1} << (hole % kWord); }

  // The first entry from a position on that is no hole; those never written are none.
  [[gnu::always_inline]] Position entry_from(Position at) const {
    std::uint64_t entries = ~holes_[at / kWord] >> (at % kWord);
    if (entries == 0) [[unlikely]] {
      at = at / kWord * kWord;
      do at += kWord;
      while ((entries = ~holes_[at / kWord]) == 0);
    }
    return at + static_cast<Position>(std::countr_zero(entries));
  }
  // The entry that comes so many after this one that are no holes, if it is within a word of bits.
  [[gnu::always_inline]] Position some_ahead(Position at) const {
    const Position word = at / kWord;
    std::uint64_t entries = ~holes_[word] >> (at % kWord) | ~holes_[word + 1]
                                                                << 1 << (kWord - 1 - at % kWord);
    for (int i = 0; i < kBlocksAhead; ++i) entries &= entries - 1;
    return at + static_cast<Position>(std::countr_zero(entries));
  }
  Position oldest(const Stack& stack) const { return entry_from(stack.boundary[kTiers - 1]); }

  [[gnu::noinline]] void squeeze(Stack& stack) {
    std::array<Position, kTiers> since{};  // entries above where a window began
    for (std::size_t k = 0; k < kTiers; ++k) {
      if (stack.window[k] == stack.begin) continue;  // all are
      const Position began = std::max(stack.window[k], stack.boundary[kTiers - 1]);
      since[k] = static_cast<Position>(count({began, stack.end}));
    }
    Position to = stack.begin;
    Position from = oldest(stack);
    Position ahead = from;
    for (int i = 0; i < kBlocksAhead; ++i) ahead = entry_from(ahead + 1);
    for (int k = kTiers - 1; k >= 0; --k) {
      stack.boundary[static_cast<std::size_t>(k)] = to;
      // Boundaries are rewritten from the oldest on: the next younger one still stands.
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
    for (std::size_t k = 0; k < kTiers; ++k) {
      if (stack.window[k] != stack.begin) stack.window[k] = to - since[k];
    }
    // A stack with few blocks re-uses the start of its segment: less memory touched.
    const std::uint64_t roomy = stack.begin + segment_size(to - stack.begin);
    stack.limit = static_cast<Position>(std::min<std::uint64_t>(roomy, stack.stop));
  }

  Last last_;                   // by block: its newest entry, or its mark
  Position marks_;              // where positions begin
  Pages<BlockId> log_;          // longer than the segments, for who looks beyond them
  Pages<std::uint64_t> holes_;  // a bit an entry
};

}  // namespace mcsim
