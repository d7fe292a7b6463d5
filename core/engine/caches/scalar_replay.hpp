#pragma once

#include <cstddef>
#include <vector>

#include "core/engine/policy/policy_cache.hpp"

namespace mcsim {

// Replay a batch access by access through a cache that may fail, and stop at its first failure.
// Calls `prefetch(i)` before access i.
template <class Cache, class Prefetch>
absl::Status scalar_replay(Cache& cache, const AccessBatch<>& batch, CacheCounts& counts,
                           Prefetch prefetch) {
  MCSIM_RETURN_IF_ERROR(batch.check());
  std::vector<BlockId> victims;
  for (std::size_t i = 0; i < batch.blocks.size() && cache.failure().ok(); ++i) {
    prefetch(i);
    const Access<> a{.block = batch.blocks[i]};
    const bool hit = cache.touch(a);
    if (!hit && cache.capacity() > 0) {
      cache.insert(a, victims);
      if (!cache.failure().ok()) break;
      counts.evictions += static_cast<Count>(victims.size());
      victims.clear();
    }
    const Count op = batch.ops.empty() ? 0 : batch.ops[i];
    if (!batch.hits.empty()) batch.hits[i] = hit ? 1 : 0;
    ++counts.accesses;
    counts.hits += hit ? 1 : 0;
    counts.writes += op;
    counts.write_hits += hit ? op : 0;
  }
  return cache.failure();
}

}  // namespace mcsim
