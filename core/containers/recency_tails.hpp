#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/recency_log.hpp"

namespace mcsim {

// Blocks of several owners by when they were used, and of each owner's which are the last so
// many: of fewer all are. An owner's blocks are a stack of RecencyLog, cut where the tail begins:
// 4 bytes a block of the universe, and 16.4 for those that an owner has at a time.
class RecencyTails {
 public:
  // `most`: by owner, the blocks that it can come to have; entries(most) is less than 2^32.
  RecencyTails(std::size_t universe, std::span<const std::uint64_t> most, Count length);
  static std::uint64_t entries(std::span<const std::uint64_t> most) { return Log::entries(most); }

  // The block is the owner's most recently used one now; whether it was in the tail before.
  bool use(std::size_t owner, BlockId block) {
    Owner& of = owners_[owner];
    const std::size_t was = log_.access(of.stack, block);
    of.blocks += was == kNowhere ? 1 : 0;
    of.in_tail -= was == kTail ? 1 : 0;
    settle(of);
    return was == kTail;
  }
  // It is no more, if it was.
  void remove(std::size_t owner, BlockId block) {
    if (!log_.contains(block)) return;
    Owner& of = owners_[owner];
    of.in_tail -= log_.remove(of.stack, block) == kTail ? 1 : 0;
    --of.blocks;
    settle(of);
  }
  // What one of these will touch.
  void prefetch(BlockId block) const { log_.prefetch(block); }

 private:
  using Log = RecencyLog<2>;
  static constexpr std::size_t kTail = 1;
  static constexpr std::size_t kNowhere = 2;

  struct Owner {
    Log::Stack stack;
    Count blocks = 0;
    Count in_tail = 0;
  };

  RecencyTails(std::size_t universe, std::vector<Log::Stack> stacks, Count length);

  // A tail lacks one block at most, the oldest of those before it.
  void settle(Owner& of) {
    if (of.in_tail == std::min(length_, of.blocks)) return;
    log_.demote(of.stack, 0);
    ++of.in_tail;
  }

  Count length_;
  Log log_;
  std::vector<Owner> owners_;
};

}  // namespace mcsim
