#pragma once

#include <cstddef>
#include <span>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/locality/hit_curve.hpp"

namespace mcsim {

// The distances of the accesses from `begin` to `end` of an interned trace, after all that was
// accessed before: the histograms of pieces that follow each other sum up to that of the whole.
//
// The piece begins with the LRU stack that was left before it, which takes a look at each earlier
// access, back from the last one until all blocks were seen: a tenth of what counting its distance
// takes. So, unlike in PARDA (PartialDistances), no access waits for others to say what it was;
// but of very many pieces the last ones look at more than they count. Memory: as DenseDistances,
// and 4 bytes a block.
//
// With a limit D > 0, distances >= D count as cold, and the stack has D blocks.
// All of `trace` are below `unique`; begin <= end <= trace.size().
absl::StatusOr<DistanceHistogram> distances_of_piece(std::span<const BlockId> trace,
                                                     std::size_t begin, std::size_t end,
                                                     std::size_t unique, Count limit = 0);

}  // namespace mcsim
