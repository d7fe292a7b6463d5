#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/pages.hpp"
#include "core/base/status.hpp"
#include "core/engine/policy/eviction_policy.hpp"

namespace mcsim {

// For every access the position of the next one to the same block, or to any of the same
// line of so many blocks, kNever if there is none; all ids are below `blocks`. Fails if the trace
// is too long for positions of 32 bits. 4 bytes an access, and 4 a block while it works.
absl::StatusOr<Pages<NextUse>> next_uses(std::span<const BlockId> trace, std::size_t blocks,
                                         std::uint32_t line_blocks = 1);

}  // namespace mcsim
