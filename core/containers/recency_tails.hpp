#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
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
// Also how many were used in a window; blocks that are not there can have marks, and all have a
// word beside for who uses this.
//
// A block may be told by its entry in the first column of the table that this is kept in.
//
// 8 bytes a block of the universe, and 16.4 for those that an owner has at a time.
class RecencyTails {
 public:
  using Log = RecencyLog<1, TableColumn>;

  // `most`: by owner, the blocks that it can come to have; entries(most) and marks, which
  // Log::marks_for() says, are less than 2^32.
  RecencyTails(std::size_t universe, std::span<const std::uint64_t> most, Count length,
               std::uint64_t marks = 0);
  static std::uint64_t entries(std::span<const std::uint64_t> most) { return Log::entries(most); }

  // Before the first block: in these two columns of the table, which are 0.
  void keep_in(const std::shared_ptr<SlotTable>& table, std::size_t column) {
    log_.keep_in(TableColumn(table, column));
    notes_ = TableColumn(table, column + 1);
  }

  // The block is the owner's most recently used one now, and was there before; whether it was in
  // the tail.
  [[gnu::always_inline]] bool use(std::size_t owner, const auto& block) {
    Owner& of = owners_[owner];
    const bool was_in_tail = move_up(of, block) < of.cut;
    if (was_in_tail) of.cut = log_.after_next(of.cut);
    return was_in_tail;
  }
  // Or was not; its mark.
  [[gnu::always_inline]] std::uint32_t add(std::size_t owner, const auto& block) {
    Owner& of = owners_[owner];
    const Log::Position mark = move_up(of, block);
    if (++of.blocks <= length_) of.cut = log_.after_next(of.cut);
    return mark;
  }
  // It is no more, and gets one.
  [[gnu::always_inline]] void remove(std::size_t owner, const auto& block, std::uint32_t mark = 0) {
    Owner& of = owners_[owner];
    const Log::Position was = log_.take_out(block, mark);
    --of.blocks;
    if (was < of.cut && of.blocks >= length_) of.cut = log_.after_next(of.cut);
  }
  // Of any block; 0 at first.
  std::uint32_t& note(BlockId block) { return notes_[block]; }
  static std::uint32_t& note(TableEntry block) { return *block.beside(1).word; }
  // What one of these will touch.
  void prefetch(BlockId block) const { log_.prefetch(block); }

  void begin_window() {
    for (Owner& of : owners_) Log::begin_window(of.stack);
  }
  // How many of those that are there were used or added since that.
  Count used(std::size_t owner) const { return log_.count(Log::accessed(owners_[owner].stack)); }

  // For marks.
  Log& log() { return log_; }

 private:
  struct Owner {
    Log::Stack stack;
    Log::Position cut;
    Count blocks = 0;
  };

  RecencyTails(const std::shared_ptr<SlotTable>& table, std::vector<Log::Stack> stacks,
               Count length);

  // Where it was, or its mark.
  [[gnu::always_inline]] Log::Position move_up(Owner& of, const auto& block) {
    if (log_.make_room(of.stack)) [[unlikely]]
      of.cut = of.stack.begin + static_cast<Log::Position>(std::min(length_, of.blocks));
    return log_.move_up<true>(of.stack, block);
  }

  Count length_;
  TableColumn notes_;
  Log log_;
  std::vector<Owner> owners_;
};

}  // namespace mcsim
