#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"
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
// 4 bytes a block of the universe, and 16.4 for those that an owner has at a time.
class RecencyTails {
 public:
  // `most`: by owner, the blocks that it can come to have; entries(most) is less than 2^32.
  RecencyTails(std::size_t universe, std::span<const std::uint64_t> most, Count length);
  static std::uint64_t entries(std::span<const std::uint64_t> most) { return Log::entries(most); }

  // The block is the owner's most recently used one now; whether it was in the tail before.
  bool use(std::size_t owner, BlockId block) {
    Owner& of = owners_[owner];
    if (log_.make_room(of.stack)) [[unlikely]]
      of.cut = of.stack.begin + static_cast<Log::Position>(tail(of));
    const Log::Position was = log_.move_up(of.stack, block);
    const bool was_in_tail = was != 0 && was < of.cut;
    of.blocks += was == 0 ? 1 : 0;
    const bool all_are = was == 0 && of.blocks <= length_;
    if (was_in_tail || all_are) of.cut = log_.after_next(of.cut);
    return was_in_tail;
  }
  // It is no more, if it was.
  void remove(std::size_t owner, BlockId block) {
    const Log::Position was = log_.where(block);
    if (was == 0) return;
    Owner& of = owners_[owner];
    log_.remove(of.stack, block);
    --of.blocks;
    if (was < of.cut && of.blocks >= length_) of.cut = log_.after_next(of.cut);
  }
  // What one of these will touch.
  void prefetch(BlockId block) const { log_.prefetch(block); }

 private:
  using Log = RecencyLog<1>;

  struct Owner {
    Log::Stack stack;
    Log::Position cut;
    Count blocks = 0;
  };

  RecencyTails(std::size_t universe, std::vector<Log::Stack> stacks, Count length);

  Count tail(const Owner& of) const { return std::min(length_, of.blocks); }

  Count length_;
  Log log_;
  std::vector<Owner> owners_;
};

}  // namespace mcsim
