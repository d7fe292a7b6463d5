#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"
#include "core/containers/rank_bitmap.hpp"
#include "core/locality/reuse_distance.hpp"

namespace mcsim {

// Exact reuse distances of a stream of block numbers in [0, blocks) (Olken 1981).
//
// Every access takes the next slot of a time axis; a slot is live while it is
// the last access to its block. The distance is the number of live slots after
// the block's last one. Slots are born live, before their time, so an access
// clears its block's old slot and sets nothing. When the axis is used up, the
// live slots move to its front in their order and time goes on after them.
//
// O(log blocks) per access; eight bytes a block and two bits a slot, of which
// there are at most kSlotsPerBlock a block.
class DistanceEngine {
 public:
  explicit DistanceEngine(std::size_t blocks = 0) : last_(blocks, kNever) {}

  // One block number more, not accessed yet.
  void add_block() { last_.push_back(kNever); }

  // Forgets all accesses: every block is cold again. `expected`, the accesses to
  // come, only decides how much memory is cleared.
  void restart(std::size_t expected) {
    origin_ += used_;
    used_ = 0;
    live_ = 0;
    slots_.fill(std::min(expected, kSlotsPerBlock * last_.size()));
  }

  // The reuse distance of the next access, kCold for the first of its block.
  Count access(std::size_t block) {
    if (used_ == slots_.size()) compact();
    const std::uint64_t before = last_[block];
    last_[block] = origin_ + used_++;
    if (before < origin_) {
      ++live_;
      return kCold;
    }
    const std::size_t slot = before - origin_;
    const Count distance = live_ - slots_.rank(slot);
    slots_.clear(slot);
    return distance;
  }

  // Blocks accessed since the restart.
  Count distinct() const { return live_; }

 private:
  static constexpr std::size_t kSlotsPerBlock = 4;
  static constexpr std::uint64_t kNever = 0;

  void compact() {
    for (std::uint64_t& time : last_) {
      if (time >= origin_) {
        time = origin_ + static_cast<std::uint64_t>(slots_.rank(time - origin_)) - 1;
      }
    }
    used_ = static_cast<std::size_t>(live_);
    slots_.fill(kSlotsPerBlock * last_.size());
  }

  // Times are origin_ + slot. The origin passes all earlier times at a restart,
  // which is how blocks turn cold without being visited.
  std::vector<std::uint64_t> last_;
  RankBitmap slots_;
  std::uint64_t origin_ = kNever + 1;
  std::size_t used_ = 0;
  Count live_ = 0;
};

}  // namespace mcsim
