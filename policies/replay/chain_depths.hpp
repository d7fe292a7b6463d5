#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/status.hpp"
#include "policies/replay/chains.hpp"

namespace mcsim {

// Store the depth of each block in the LRU stack before the request that looks it up. Requests
// touch their tails first, and the depths of a request are in this order. The depth of a block that
// no earlier request has is `chains.unique`.
//
// A touched block has passed those that its request touched before, which are deeper, so its
// distance has them in addition.
//
// The requests are divided into `pieces` with about the same work. Each piece rebuilds the stack at
// its start by a backward scan (stack_after), so pieces are independent and run in parallel. The
// last of more than about eight pieces would scan more than they count. Memory: 4 bytes a block of
// the requests, and for each running piece that of DenseDistances and 4 bytes a distinct block.
//
// Fails if a request has a block twice, or if memory runs out.
absl::Status chain_depths(const Chains& chains, std::size_t pieces,
                          std::span<std::uint32_t> depths);

}  // namespace mcsim
