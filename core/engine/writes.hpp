#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/types.hpp"
#include "core/containers/dense_list.hpp"

// What becomes of writes.
namespace mcsim {

enum class WriteMode : std::uint8_t {
  kThrough,  // into the cache and to the backend, which the VM waits for
  kBack,     // into the cache; to the backend when the block leaves it or is flushed
  kAround,   // to the backend alone: the cache is for reads, and copies in it are dropped
};

template <>
struct Choices<WriteMode> {
  static constexpr std::array names{std::pair{"through", WriteMode::kThrough},
                                    std::pair{"back", WriteMode::kBack},
                                    std::pair{"around", WriteMode::kAround}};
};

// Which copies are newer than everything below them: blocks by tier, and the blocks in
// the order in which they became dirty.
//
// 9 bytes a block of the trace.
class DirtyBlocks {
 public:
  explicit DirtyBlocks(std::size_t blocks) : order_(blocks), tiers_(blocks, 0) {}

  bool contains(BlockId block) const { return tiers_[block] != 0; }
  bool contains(BlockId block, std::size_t tier) const { return (tiers_[block] & bit(tier)) != 0; }
  // A copy faster than the tier's.
  bool above(BlockId block, std::size_t tier) const {
    return (tiers_[block] & (bit(tier) - 1)) != 0;
  }
  Count size() const { return order_.size(); }
  BlockId oldest() const { return order_.front(); }

  // False if some copy was dirty before.
  bool mark(BlockId block, std::size_t tier) {
    const bool was_clean = !contains(block);
    if (was_clean) order_.push_back(block);
    tiers_[block] |= bit(tier);
    return was_clean;
  }
  // The copy of one tier is clean, or gone. True if no other is dirty now.
  bool clear(BlockId block, std::size_t tier) {
    tiers_[block] &= static_cast<std::uint8_t>(~bit(tier));
    if (contains(block)) return false;
    order_.erase(block);
    return true;
  }
  // All copies of a dirty block.
  void clear(BlockId block) {
    tiers_[block] = 0;
    order_.erase(block);
  }
  void move(BlockId block, std::size_t from, std::size_t to) {
    tiers_[block] = static_cast<std::uint8_t>((tiers_[block] & ~bit(from)) | bit(to));
  }

 private:
  static constexpr std::uint8_t bit(std::size_t tier) {
    return static_cast<std::uint8_t>(1U << tier);
  }

  DenseList order_;
  std::vector<std::uint8_t> tiers_;  // a bit each
};

}  // namespace mcsim
