#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

// The reuse distances within a piece of a stream, and the boundary blocks needed to merge it with
// its neighbours: the map step of a map-reduce (PARDA: Niu, Dinan, Lu and Sadayappan, IPDPS 2012).
// merge() is associative: threads, processes or machines can analyse pieces, and neighbours can be
// merged in any tree. The bytes of a piece's result are always the same.
//
// With a limit D > 0, distances >= D count as cold. The histogram equals the unlimited one
// truncated at D. `first` and `last` keep at most D blocks, all that distances below D can depend
// on.
struct PartialDistances {
  Count limit = 0;  // 0: none

  // Distances between two accesses in the piece. `cold` counts accesses that are cold whatever came
  // before the piece; 0 without a limit.
  DistanceHistogram resolved;
  // Blocks by their first access in the piece, whose distances depend on earlier pieces.
  std::vector<std::uint64_t> first;
  // Blocks by their last access in the piece, the most recent at the end.
  std::vector<std::uint64_t> last;

  // The histogram of a stream that begins with this piece: the accesses of `first` are cold.
  DistanceHistogram histogram() const;

  // A serialised form with version and checksum, the same on all machines.
  std::string to_bytes() const;
  // Parses it. Fails, with the reason, on bytes that no to_bytes() of this version can have made.
  static absl::StatusOr<PartialDistances> from_bytes(std::string_view bytes);

  friend bool operator==(const PartialDistances&, const PartialDistances&) = default;
};

// O(n log distinct); memory as for ExactDistances.
PartialDistances analyse(std::span<const std::uint64_t> keys, Count limit = 0);

// Returns the result for `left` followed by `right`; fails if their limits differ. Looks up every
// block of right.first in the LRU stack left.last: O((left.last + right.first) log left.last).
absl::StatusOr<PartialDistances> merge(const PartialDistances& left, const PartialDistances& right);

struct MergeOptions {
  bool starts = false;  // nothing precedes `left`: counts blocks new to both as cold
  bool ends = false;    // nothing follows `right`: leaves `last` empty
  // Receives the distances of right.first if it has as many elements; kCold for new blocks.
  std::span<Count> distances = {};
};

// The same without a copy of `left`. Fails if a block occurs twice in left.last, or twice among
// the blocks of right.first that left.last has.
absl::StatusOr<PartialDistances> merge(PartialDistances&& left, const PartialDistances& right,
                                       const MergeOptions& options);

// The distances of accesses, all to different blocks, after an LRU stack of `depth` blocks:
// places[i] is the position counted from the bottom, 0 for a block that is not in the stack. Stores
// the distances in `distances` unless it is empty.
DistanceHistogram distances_in_stack(std::size_t depth, std::span<const std::uint32_t> places,
                                     std::span<Count> distances);

}  // namespace mcsim
