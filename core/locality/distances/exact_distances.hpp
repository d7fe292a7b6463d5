#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"
#include "core/locality/distances/distance_state.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

struct DistanceOptions {
  // 0: one bin for each distance. b > 0: no bin is wider than 2^-b of its distances. The curve is
  // then exact at the ends of bins and never above the truth between them. For very large
  // footprints.
  int bin_bits = 0;
  // Streams with more blocks are rejected.
  Count max_blocks = kMaxBlocks;

  // The number of 32-bit positions on the time axis.
  static constexpr Count kMaxBlocks = Count{1} << 31;
};

// The error for a stream with more than `most` blocks.
absl::Status too_many_blocks(Count most);

// Exact reuse distances of a stream of arbitrary 64-bit keys, piece by piece (Olken 1981, with a
// structure in which time slots only become dead). One thread; 11 to 22 bytes a block for the
// table, two to three for the time axis, four a distance.
class ExactDistances {
 public:
  explicit ExactDistances(DistanceOptions options = {});

  // Counts the distances of the next keys. Fails with ResourceExhausted if there are too many
  // blocks; the stream ends there.
  absl::Status process(std::span<const std::uint64_t> keys);
  // Also stores the distances, one a key, kCold for first accesses.
  absl::Status process(std::span<const std::uint64_t> keys, std::span<Count> distances);

  // Removes a block from the stack (StackHoles): its next access is cold. Ignores unknown blocks.
  void discard(std::uint64_t key);

  DistanceHistogram histogram() const { return state_.histogram(); }
  Count distinct() const { return state_.distinct(); }
  std::size_t bytes() const { return table_.bytes() + state_.bytes(); }
  std::size_t histogram_bytes() const { return state_.bins.bytes(); }

 private:
  absl::Status count(std::span<const std::uint64_t> keys, Count* distances);
  void count_after_discards(std::span<const std::uint64_t> keys, Count* distances);

  DistanceOptions options_;
  BlockTable table_;
  DistanceState state_;
};

// The same for block numbers in [0, blocks), in half the time: an array replaces the table. Four
// bytes a block, and two to three for the time axis.
class DenseDistances {
 public:
  // blocks <= DistanceOptions::kMaxBlocks.
  explicit DenseDistances(std::size_t blocks, int bin_bits = 0);
  // Starts with the LRU stack `stack` of earlier, uncounted accesses; the most recent block comes
  // last.
  DenseDistances(std::size_t blocks, std::span<const std::uint32_t> stack);

  void process(std::span<const std::uint32_t> blocks);
  void process(std::span<const std::uint32_t> blocks, std::span<Count> distances);

  // Removes a block from the stack; see ExactDistances. Returns its depth, which is the distance
  // that an access would have had: kCold if the stack did not have the block.
  Count discard(std::uint32_t block);

  // Holes in the stack.
  std::size_t holes() const { return state_.holes.codes.size(); }
  // The stack from the bottom up; kHole for a hole.
  static constexpr std::uint32_t kHole = 0xffffffff;
  std::vector<std::uint32_t> stack() const;

  // Clears the counts and keeps the stack.
  void clear_counts();

  DistanceHistogram histogram() const { return state_.histogram(); }
  Count distinct() const { return state_.distinct(); }
  std::size_t bytes() const { return last_.bytes() + state_.bytes(); }
  std::size_t histogram_bytes() const { return state_.bins.bytes(); }
  // The maximum memory for `blocks` blocks, with a bin for each distance.
  static std::size_t max_bytes(std::size_t blocks);

 private:
  void count(std::span<const std::uint32_t> blocks, Count* distances);

  Pages<std::uint32_t> last_;
  DistanceState state_;
};

}  // namespace mcsim
