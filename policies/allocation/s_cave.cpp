#include "policies/allocation/s_cave.hpp"

#include <algorithm>

#include "core/base/share.hpp"

namespace mcsim {

std::string SCave::divide(const Observation& seen, std::vector<Count>& blocks) {
  std::vector<double> scores;
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    scores.push_back(score(seen, vm, blocks[vm]));
  }
  share_free(seen, blocks);
  std::vector<bool> waits = seen.departed;  // VMs that are not in a pair yet
  waits.flip();
  for (Count pair = 0; pair < params_.pairs; ++pair) {
    std::size_t to = blocks.size();
    std::size_t from = blocks.size();
    for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
      if (!waits[vm]) continue;
      if (to == blocks.size() || scores[vm] > scores[to]) to = vm;
      if (spare(blocks[vm]) == 0) continue;
      if (from == blocks.size() || scores[vm] < scores[from]) from = vm;
    }
    if (from == blocks.size() || scores[to] - scores[from] <= params_.threshold) break;
    move(from, to, blocks);
    states_[to].received = true;
    waits[from] = waits[to] = false;
  }
  return too_small(seen);
}

double SCave::score(const Observation& seen, std::size_t vm, Count blocks) {
  const VmCounters& window = seen.since[vm];
  const auto granted = static_cast<double>(std::max<Count>(blocks, 1));
  const auto held = static_cast<double>(DividedCache::held(window));
  const bool full = held >= static_cast<double>(ceil_of(params_.full * granted));
  State& state = states_[vm];
  if (window.accesses > 0) {
    const double ratio =
        static_cast<double>(window.accesses - window.misses) / static_cast<double>(window.accesses);
    const bool no_better = ratio - state.hit_ratio < params_.gain;
    if (state.received && full && no_better) state.unfriendly = params_.unfriendly;
    state.hit_ratio = ratio;
  }
  state.received = false;
  if (state.unfriendly > 0) {
    --state.unfriendly;
    return -1;
  }
  const Count of_use = params_.metric == ScaveMetric::kWss ? seen.meter("distinct").distinct[vm]
                                                           : seen.probe[vm].distinct_hits;
  const double asked = static_cast<double>(of_use) / granted;
  return full ? asked : asked * held / granted;
}

}  // namespace mcsim
