#include "policies/allocation/multicache/multicache_params.hpp"

namespace mcsim {

MultiCacheParams with_legacy(MultiCacheParams params) {
  if (!params.legacy) return params;
  params.block_key = BlockKey::kByteOffset;
  params.whole_seconds = true;
  params.distance_scope = DistanceScope::kCumulative;
  params.idle = IdlePolicy::kCurve;
  params.ri_window = {600 * kSecond};
  params.unique_counter = UniqueCounter::kHyperLogLog;
  params.distance_limit = 1'100'000;
  params.split_grid = true;
  params.percent_utility = true;
  params.total_size_weight = true;
  params.rescale = true;
  params.drifting_timer = true;
  params.resize_mode = ResizeMode::kLazy;
  params.victim = VictimRule::kFirstOver;
  return params;
}

}  // namespace mcsim
