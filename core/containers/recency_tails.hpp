#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/directory.hpp"
#include "core/containers/recency_log.hpp"

namespace mcsim {

// Blocks of several owners by when they were used, and of each owner's which are the last so
// many: of fewer all are. An owner's blocks are a stack of RecencyLog, and those below a cut are
// its tail. A use or a removal moves the cut by one block at most:
//
//                       cut                          end
//   … gone …  |  e . d   |  . c . . b . a             |
//              tail: e d
//
// Also how many were used in a window; and blocks that are not there can have marks.
//
// Tails and marks are for whoever asks: `kAsked`, of methods that move blocks, is whether somebody
// may have. Owners know how many blocks they have.
//
// A block may be told by its entry in the column of the table that this is kept in.
//
// 4 bytes a block of the universe, and 16.4 for those that an owner has at a time.
class RecencyTails {
 public:
  using Log = RecencyLog<1, TableColumn>;
  using Position = Log::Position;
  struct Stack {
    Log::Stack log;
    Position cut;
  };

  // `most`: by owner, the blocks that it can come to have; entries(most) and marks, which
  // Log::marks_for() says, are less than 2^32. The column is 0. Tails have the length 0.
  RecencyTails(TableColumn column, std::span<const std::uint64_t> most)
      : RecencyTails(std::move(column), Log::stacks(most), 0) {}
  static std::uint64_t entries(std::span<const std::uint64_t> most) { return Log::entries(most); }

  // Before the first block: in another column; with tails and marks for stacks that are those from
  // then on; and empty stacks.
  void keep_in(TableColumn column) {
    column_ = column;
    log_.keep_in(std::move(column));
  }
  void ask(Count length, std::uint64_t marks);
  std::vector<Stack> stacks() const;

  bool has(const auto& block) const { return log_.where(block) >= log_.marks(); }

  // The block is the most recently used one now of those of an owner, who has so many, and was
  // there before; whether it was in the tail.
  template <bool kAsked = true>
  [[gnu::always_inline]] bool use(Stack& of, const auto& block, Count blocks) {
    const bool was_in_tail = move_up<kAsked>(of, block, blocks) < of.cut;
    if (!kAsked || !was_in_tail) return false;
    of.cut = log_.after_next(of.cut);
    return true;
  }
  // Or was not, and is one of so many now; its mark.
  template <bool kAsked = true>
  [[gnu::always_inline]] Position add(Stack& of, const auto& block, Count blocks) {
    const Position mark = move_up<kAsked>(of, block, blocks - 1);
    if (kAsked && blocks <= length_) of.cut = log_.after_next(of.cut);
    return mark;
  }
  // It is no more, so many are left, and it gets a mark; whether it was in the tail.
  [[gnu::always_inline]] bool remove(Stack& of, const auto& block, Count blocks,
                                     Position mark = 0) {
    return gone(of, log_.take_out(block, mark), blocks);
  }
  // The least recently used one is no more; `next` is as RecencyLog has it.
  template <bool kAsked = true>
  [[gnu::always_inline]] BlockId demote(Stack& of, Count blocks, BlockId* next = nullptr) {
    const BlockId block = log_.demote(of.log, 0, next);
    if (kAsked) gone(of, of.log.boundary[0] - 1, blocks);
    return block;
  }

  bool in_tail(const Stack& of, const auto& block) const { return log_.where(block) < of.cut; }
  // One that demote may return some calls later.
  BlockId soon(const Stack& of) const { return log_.soon(of.log, 0); }
  // What one of these will touch.
  void prefetch(BlockId block) const { log_.prefetch(block); }

  static void begin_window(Stack& of) { Log::begin_window(of.log); }
  // How many of those that are there were used or added since that.
  Count used(const Stack& of) const { return log_.count(Log::accessed(of.log)); }

  // For marks, and for who looks at all.
  Log& log() { return log_; }
  const Log& log() const { return log_; }

 private:
  RecencyTails(TableColumn column, std::vector<Log::Stack> stacks, Count length)
      : column_(std::move(column)),
        length_(length),
        empty_(std::move(stacks)),
        log_(column_, empty_) {}

  // Where it was, or its mark.
  template <bool kAsked>
  [[gnu::always_inline]] Position move_up(Stack& of, const auto& block, Count blocks) {
    if (!kAsked) return log_.move_up(of.log, block);
    if (log_.make_room(of.log)) [[unlikely]]
      of.cut = of.log.begin + static_cast<Position>(std::min(length_, blocks));
    return log_.move_up<true>(of.log, block);
  }
  [[gnu::always_inline]] bool gone(Stack& of, Position was, Count blocks) {
    if (was >= of.cut) return false;
    if (blocks >= length_) of.cut = log_.after_next(of.cut);
    return true;
  }

  TableColumn column_;
  Count length_;
  std::vector<Log::Stack> empty_;
  Log log_;
};

}  // namespace mcsim
