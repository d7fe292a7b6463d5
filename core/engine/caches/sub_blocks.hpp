#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/status.hpp"
#include "core/engine/policy/policy_cache.hpp"

// Sub-block caches, first called sector caches (Liptay: Structural aspects of the System/360 Model
// 85, II: The cache, IBM Systems Journal 7(1), 1968): a line has a tag, and each of its blocks a
// presence bit. A miss loads one block, whether the line is held (a partial miss) or not; evictions
// remove whole lines. One tag for many blocks saves space, and neighbouring blocks are not loaded
// needlessly.
namespace mcsim {

// Make the cache of lines under some policy.
using MakeLines =
    std::function<absl::StatusOr<std::unique_ptr<TierCache>>(const PolicySetup& setup)>;

// Works with every policy: the policy sees an access to a block as an access to its line. Block b
// is in line b / line_blocks; a capacity in blocks is rounded down to whole lines. Next uses are
// those of lines.
//
// Memory: 4 bytes a block of the trace in addition to that of the policy.
absl::StatusOr<std::unique_ptr<TierCache>> make_sub_block_cache(const MakeLines& make,
                                                                const PolicySetup& setup,
                                                                std::uint32_t line_blocks);

}  // namespace mcsim
