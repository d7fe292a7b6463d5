#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// A block that is discarded before an access: it leaves the cache.
struct DiscardedBlock {
  std::size_t access = 0;  // at most the number of accesses
  BlockId block = 0;
};

// For every access the position of the next one to the same block, or to the same line of
// `line_blocks` blocks. It is kNever if there is none or the block is discarded before it. All ids
// are below `blocks`. Lines have a next use whatever blocks of them are discarded. Fails if the
// trace is too long for positions of 32 bits. 4 bytes an access, and 4 a block while it works.
absl::StatusOr<Pages<NextUse>> next_uses(std::span<const BlockId> trace, std::size_t blocks,
                                         std::uint32_t line_blocks = 1,
                                         std::span<const DiscardedBlock> discards = {});

}  // namespace mcsim
