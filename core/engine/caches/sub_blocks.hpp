#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/status.hpp"
#include "core/engine/policy/policy_cache.hpp"

// Sub-block caches, called sector caches at first (Liptay: Structural aspects of the
// System/360 Model 85, II: The cache, IBM Systems Journal 7(1), 1968): a line has a tag,
// and each of its blocks a bit that says whether it is there. A miss loads one block, be
// the line held (a partial miss) or not; what is evicted is the line. A tag for many
// blocks takes little space, and what is near a block is not loaded for nothing.
namespace mcsim {

// Makes a cache under the policy of lines.
using MakeLines =
    std::function<absl::StatusOr<std::unique_ptr<TierCache>>(const PolicySetup& setup)>;

// Every policy will do: it sees lines, each access to a block as one to its line. Block b
// is in line b / line_blocks; a capacity in blocks is that of the lines that fit. Next
// uses are those of lines.
//
// 4 bytes a block of the trace beside what the policy keeps.
absl::StatusOr<std::unique_ptr<TierCache>> make_sub_block_cache(const MakeLines& make,
                                                                const PolicySetup& setup,
                                                                std::uint32_t line_blocks);

}  // namespace mcsim
