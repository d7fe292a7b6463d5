#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// A block that is discarded, and leaves the cache, before an access.
struct DiscardedBlock {
  std::size_t access = 0;  // at most the number of accesses
  BlockId block = 0;
};

// Compute for every access the position of the next access to the same block, or to the same line
// of `line_blocks` blocks. The result is kNever if there is none, or if the block is discarded
// first. Discards do not change the next uses of lines. All ids are below `blocks`. Fails if the
// trace is too long for 32-bit positions. Memory: 4 bytes an access, and temporarily 4 a block.
absl::StatusOr<Pages<NextUse>> next_uses(std::span<const BlockId> trace, std::size_t blocks,
                                         std::uint32_t line_blocks = 1,
                                         std::span<const DiscardedBlock> discards = {});

}  // namespace mcsim
