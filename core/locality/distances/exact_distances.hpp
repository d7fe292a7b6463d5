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
  // 0 counts every distance by itself. b > 0 counts in bins of which none is
  // wider than 2^-b of what it holds: the curve is exact at the bins' ends and
  // between them never above the truth. For footprints of very many blocks.
  int bin_bits = 0;
  // A stream of more blocks is refused.
  Count max_blocks = kMaxBlocks;

  // What 32-bit places on the time axis can tell apart.
  static constexpr Count kMaxBlocks = Count{1} << 31;
};

// What a stream of more blocks than that is told.
absl::Status too_many_blocks(Count most);

// Exact reuse distances of a stream of 64-bit keys, any of them, piece by piece
// (Olken 1981, with a structure in which slots of time only die). One thread; 11 to
// 22 bytes a block for the table, two to three for the time axis, four a distance.
class ExactDistances {
 public:
  explicit ExactDistances(DistanceOptions options = {});

  // Counts the distances of the next keys. Fails with ResourceExhausted if there
  // are too many blocks; the stream ends there.
  absl::Status process(std::span<const std::uint64_t> keys);
  // And writes them out, one a key, kCold for first ones.
  absl::Status process(std::span<const std::uint64_t> keys, std::span<Count> distances);

  // Removes a block from the stack (StackHoles): its next access is cold. Others are ignored.
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

// The same for block numbers in [0, blocks), at half the time: an array takes the
// place of the table. Four bytes a block and two to three for the time axis.
class DenseDistances {
 public:
  // blocks <= DistanceOptions::kMaxBlocks.
  explicit DenseDistances(std::size_t blocks, int bin_bits = 0);
  // After accesses that are not counted and left this LRU stack, the most recent block at its end.
  DenseDistances(std::size_t blocks, std::span<const std::uint32_t> stack);

  void process(std::span<const std::uint32_t> blocks);
  void process(std::span<const std::uint32_t> blocks, std::span<Count> distances);

  // Removes a block from the stack, as of ExactDistances.
  void discard(std::uint32_t block);

  // Removes the counts, not the accesses.
  void clear_counts();

  DistanceHistogram histogram() const { return state_.histogram(); }
  Count distinct() const { return state_.distinct(); }
  std::size_t bytes() const { return last_.bytes() + state_.bytes(); }
  std::size_t histogram_bytes() const { return state_.bins.bytes(); }
  // What distances among so many blocks may come to hold, each counted by itself.
  static std::size_t most_bytes(std::size_t blocks);

 private:
  void count(std::span<const std::uint32_t> blocks, Count* distances);

  Pages<std::uint32_t> last_;
  DistanceState state_;
};

}  // namespace mcsim
