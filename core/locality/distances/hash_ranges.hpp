#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"

namespace mcsim {

// Merges of all pieces of a stream by ranges of the hashes of their blocks, without discards. No
// step has the blocks of all pieces:
//
//   join     a range of hashes, all pieces: the access that moves each block of a piece's LRU stack
//   rank     the stack of a piece: the blocks above each moved one that stay longer
//   resolve  the first accesses of a piece: their distances (partial_curve.hpp)
//
// The distance of a first access is its distance in a stack of the blocks that its piece accesses,
// plus the blocks above that no piece up to its own accesses.

// Ranges of the hash of a key. A step may take any number of neighbours.
inline constexpr std::size_t kHashRanges = 256;

// The range of a key. The upper 16 bits do not count: they have the number of a VM, which merges
// change.
std::uint8_t hash_range(std::uint64_t key);

// Keys by range; keys of one range keep their order.
struct GroupedKeys {
  std::vector<std::uint8_t> range_of;  // by position before
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> count;  // by range
};

GroupedKeys group_by_hash(std::span<const std::uint64_t> keys);

// Restores the order of keys. Fails if the lengths differ.
absl::StatusOr<std::vector<std::uint64_t>> ungroup(std::span<const std::uint8_t> range_of,
                                                   std::span<const std::uint64_t> keys);

// The positions that grouped elements had before, given the range of each position.
std::vector<std::uint32_t> positions_of_groups(std::span<const std::uint8_t> range_of);

// The accesses that move the blocks of LRU stacks, in some ranges of hashes. Memory: 6 bytes a
// block and piece, and a table of the distinct blocks.
class RangeJoin {
 public:
  struct Moves {
    std::vector<std::uint16_t> piece;   // by block of the stacks, piece by piece; pieces: none
    std::vector<std::uint32_t> access;  // position among the grouped first accesses of that piece
  };

  explicit RangeJoin(std::size_t pieces);

  // Adds the next piece. `first` are the keys of its first accesses in the ranges, the first of
  // which is at `first_at` among those of all ranges. `last` are those of its stack. Fails if a
  // block occurs twice.
  absl::Status add(std::span<const std::uint64_t> first, std::uint32_t first_at,
                   std::span<const std::uint64_t> last);
  Moves finish() { return std::move(moves_); }

 private:
  absl::Status add_keys(std::span<const std::uint64_t> first, std::uint32_t first_at,
                        std::span<const std::uint64_t> last);

  std::size_t pieces_;
  std::size_t added_ = 0;
  BlockTable newest_;  // the last entry of each block in moves_, from 1
  Moves moves_;
};

// The moved blocks of an LRU stack, by the piece that moves them; those of a piece from the bottom
// of the stack up.
struct RankedMoves {
  std::vector<std::uint32_t> above;   // blocks above that no piece up to that one moves
  std::vector<std::uint32_t> access;  // as in RangeJoin::Moves
  std::vector<std::uint64_t> count;   // by piece; at the end those that no piece moves
};

// Ranks the blocks of a stack, given their ranges from the bottom up, and their moves by range.
// Fails if these do not fit.
absl::StatusOr<RankedMoves> rank_moves(std::span<const std::uint8_t> range_of,
                                       std::span<const std::uint16_t> piece,
                                       std::span<const std::uint32_t> access, std::size_t pieces);

}  // namespace mcsim
