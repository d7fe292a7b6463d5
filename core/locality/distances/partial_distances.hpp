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

// What a piece of a stream tells of its reuse distances, and all that a piece
// before or after it must know of it: the map of a map-and-reduce (PARDA: Niu,
// Dinan, Lu and Sadayappan, IPDPS 2012). merge() is associative, so that pieces
// may be analysed by any threads, processes or machines and be put together in
// any tree over neighbours; the partial of a piece is the same bits always.
//
// With a limit D > 0, distances >= D count as cold. The histogram is exactly that
// of the unlimited analysis truncated at D; `first` and `last` keep at most D
// blocks, all that distances below D can depend on.
struct PartialDistances {
  Count limit = 0;  // 0: none

  // Distances between two accesses in the piece. `cold` are accesses that are
  // cold whatever came before the piece: none without a limit.
  DistanceHistogram resolved;
  // Blocks by their first access in the piece: each waits for what came before.
  std::vector<std::uint64_t> first;
  // Blocks by their last access in the piece, the most recent at the end.
  std::vector<std::uint64_t> last;

  // Of a stream that begins with this piece: blocks that wait are cold.
  DistanceHistogram histogram() const;

  // For a file or a socket: versioned and checksummed, the same on any machine.
  std::string to_bytes() const;
  // Fails, saying how, on bytes that no to_bytes() of this version can have made.
  static absl::StatusOr<PartialDistances> from_bytes(std::string_view bytes);

  friend bool operator==(const PartialDistances&, const PartialDistances&) = default;
};

// O(n log distinct); memory as ExactDistances.
PartialDistances analyse(std::span<const std::uint64_t> keys, Count limit = 0);

// The partial of `left` followed by `right`; fails if their limits differ. Every
// block that `right` waits for is looked for in the LRU stack that `left` ended
// with: O((left.last + right.first) log left.last).
absl::StatusOr<PartialDistances> merge(const PartialDistances& left, const PartialDistances& right);

}  // namespace mcsim
