#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

// The `most` topmost blocks of the LRU stack after these accesses, the most recent one last. All
// blocks are below `unique`.
std::vector<BlockId> stack_after(std::span<const BlockId> blocks, std::size_t unique,
                                 std::size_t most = std::numeric_limits<std::size_t>::max());

// The distances of the accesses from `begin` to `end` of an interned trace, after all accesses
// before them. The histograms of consecutive pieces add up to that of the whole.
//
// The LRU stack at the start of the piece is rebuilt by a backward scan of the earlier accesses
// until all blocks were seen. Scanning an access takes a tenth of the time of counting its
// distance. So, unlike in PARDA (PartialDistances), no distance depends on another piece's result,
// but with very many pieces the last ones scan more than they count. Memory: as DenseDistances, and
// 4 bytes a block.
//
// With a limit D > 0, distances >= D count as cold, and the stack has D blocks. All of `trace` are
// below `unique`; begin <= end <= trace.size().
absl::StatusOr<DistanceHistogram> distances_of_piece(std::span<const BlockId> trace,
                                                     std::size_t begin, std::size_t end,
                                                     std::size_t unique, Count limit = 0);

}  // namespace mcsim
