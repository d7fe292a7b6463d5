#include "core/engine/policy/next_use.hpp"

#include <algorithm>

namespace mcsim {

absl::StatusOr<Pages<NextUse>> next_uses(std::span<const BlockId> trace, std::size_t blocks,
                                         std::uint32_t line_blocks,
                                         std::span<const DiscardedBlock> discards) {
  constexpr std::size_t kAhead = 16;
  if (trace.size() >= kNever) {
    return out_of_range("next uses are supported for at most {} accesses, got {}", kNever - 1,
                        trace.size());
  }
  Pages<NextUse> result(trace.size());
  Pages<NextUse> next(blocks);  // by line
  std::fill(next.begin(), next.end(), kNever);
  if (line_blocks > 1) discards = {};
  for (std::size_t i = trace.size(); i-- > 0;) {
    for (; !discards.empty() && discards.back().access > i;
         discards = discards.first(discards.size() - 1)) {
      next[discards.back().block] = kNever;
    }
    __builtin_prefetch(&next[trace[i - std::min(i, kAhead)] / line_blocks], 1);
    NextUse& of_line = next[trace[i] / line_blocks];
    result[i] = of_line;
    of_line = static_cast<NextUse>(i);
  }
  return result;
}

}  // namespace mcsim
