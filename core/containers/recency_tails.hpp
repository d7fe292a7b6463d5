#pragma once

#include <cstdint>
#include <vector>

#include "core/base/pages.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// Blocks of several owners by when they were used, and of each owner's which are the last so
// many: of fewer all are. Nine bytes a block of the universe.
//
// The blocks of an owner are a ring, from the least recently used one to the most recently used
// one to the owner's root. A hand is on the newest block of the tail, or on the root where the
// tail is empty, and moves by a block or none at every step.
class RecencyTails {
 public:
  RecencyTails(std::size_t universe, std::size_t owners, Count length);

  // The block is the owner's most recently used one now; whether it was in the tail before.
  bool use(std::size_t owner, BlockId block);
  // It is no more, if it was.
  void remove(std::size_t owner, BlockId block);

 private:
  enum Place : std::uint8_t { kNowhere, kBeforeTail, kTail };
  struct Links {
    BlockId newer;
    BlockId older;
  };
  struct Owner {
    BlockId hand;
    Count blocks = 0;
    Count in_tail = 0;
  };

  void unlink(Owner& owner, BlockId block);
  void settle(Owner& owner);

  Count length_;
  Pages<std::uint8_t> place_;  // by block
  Pages<Links> links_;         // by block, then roots by owner
  std::vector<Owner> owners_;
};

}  // namespace mcsim
