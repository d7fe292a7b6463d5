#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/engine/model/allocation.hpp"

namespace mcsim::testing {

// Tries every choice there is. Feasibility and worth are spelled out from the
// definition above AllocationProblem, sharing no code with what is tested.
class BruteForce {
 public:
  explicit BruteForce(const AllocationProblem& problem)
      : problem_(problem), left_(problem.capacities) {
    visit(0, 0, 0, 0.0);
  }

  // -infinity if nothing is feasible.
  double best() const { return best_; }

 private:
  void visit(std::size_t vm, std::size_t tier, Count faster, double worth) {
    if (vm == problem_.value.size()) {
      best_ = std::max(best_, worth);
      return;
    }
    if (tier == problem_.capacities.size()) {
      visit(vm + 1, 0, 0, worth);
      return;
    }
    for (std::size_t i = 0; i < problem_.sizes.size(); ++i) {
      if (!problem_.lowest.empty() && i < problem_.lowest[vm][tier]) continue;
      if (!problem_.highest.empty() && i > problem_.highest[vm][tier]) continue;
      const Count taken = problem_.sizes[i] - faster;
      if (taken < 0 || taken > left_[tier]) continue;
      left_[tier] -= taken;
      visit(vm, tier + 1, problem_.sizes[i], worth + problem_.value[vm][tier][i]);
      left_[tier] += taken;
    }
  }

  const AllocationProblem& problem_;
  std::vector<Count> left_;
  double best_ = -std::numeric_limits<double>::infinity();
};

}  // namespace mcsim::testing
