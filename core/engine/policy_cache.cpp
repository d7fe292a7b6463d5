#include "core/engine/policy_cache.hpp"

namespace mcsim {

ChainStep* TierCache::serve(std::span<const ChainStep> steps, ChainStep* next,
                            const ChainUses* uses) {
  if (capacity() == 0) {
    if (uses != nullptr) std::copy_n(uses->of_steps, steps.size(), uses->of_next);
    return std::copy(steps.begin(), steps.end(), next);
  }
  const ChainStep* const first = next;
  std::vector<BlockId> victims;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ChainStep step = steps[i];
    Access<> a{.block = step.block(), .op = step.op()};
    if (step.kind() == ChainStep::kMissed) {
      if (!take(a.block)) *next++ = step;
      continue;
    }
    if (uses != nullptr) a.next_use = uses->of_blocks[a.block] = uses->of_steps[i];
    if (step.kind() == ChainStep::kAccess) {
      if (touch(a)) continue;
      *next++ = step.missed();
    }
    victims.clear();
    insert(a, victims);
    for (const BlockId victim : victims) {
      if (uses != nullptr) uses->of_next[next - first] = uses->of_blocks[victim];
      *next++ = ChainStep(victim, step.request(), ChainStep::kVictim, Op::kRead);
    }
  }
  return next;
}

}  // namespace mcsim
