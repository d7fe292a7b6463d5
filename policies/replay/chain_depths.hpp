#pragma once

#include <cstdint>
#include <span>

#include "core/base/status.hpp"
#include "policies/replay/chains.hpp"

namespace mcsim {

// Store the depth of each block in the LRU stack before the request that looks it up. Requests
// touch their tails first, and the depths of a request are in this order. The depth of a block that
// no earlier request has is `chains.unique`.
//
// A request that touches a block touches all blocks before it in the chain. So the blocks that
// request j touched last are the end of its chain, and they are neighbours in the stack: heads on
// top, below all blocks of later requests. Blocks of a request with the same j are a run with
// consecutive depths. The first depth is the number of blocks that later requests touched last,
// which a Fenwick tree over requests has. So the time is that of a few sums for each run, and of
// one load for each block. Memory: 4 bytes a distinct block and 8 bytes a request.
//
// Fails if a request has a block twice, if a block follows different blocks, or if memory runs out.
absl::Status chain_depths(const Chains& chains, std::span<std::uint32_t> depths);

}  // namespace mcsim
