#include "core/engine/model/allocation.hpp"

#include <algorithm>
#include <cmath>

namespace mcsim {
namespace {

using Choice = std::vector<std::vector<std::size_t>>;

absl::Status check_sizes(const std::vector<Count>& sizes) {
  if (sizes.empty() || sizes[0] != 0) {
    return invalid_argument("sizes: the first must be 0{}",
                            sizes.empty() ? ", got no sizes" : fmt::format(", got {}", sizes[0]));
  }
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] <= sizes[i - 1]) {
      return invalid_argument("sizes[{}]: {} does not exceed sizes[{}] = {}", i, sizes[i], i - 1,
                              sizes[i - 1]);
    }
  }
  return absl::OkStatus();
}

absl::Status check_values(const AllocationProblem& problem) {
  if (problem.vms() == 0) return invalid_argument("value: expected at least one VM");
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    const auto& tables = problem.value[v];
    if (tables.size() != problem.tiers()) {
      return invalid_argument("value[{}]: {} tiers, expected {} as in capacities", v, tables.size(),
                              problem.tiers());
    }
    for (std::size_t k = 0; k < tables.size(); ++k) {
      if (tables[k].size() != problem.sizes.size()) {
        return invalid_argument("value[{}][{}]: {} values, expected {}, one per size", v, k,
                                tables[k].size(), problem.sizes.size());
      }
      for (std::size_t i = 0; i < tables[k].size(); ++i) {
        if (!std::isfinite(tables[k][i])) {
          return invalid_argument("value[{}][{}][{}]: {} is not a finite number", v, k, i,
                                  tables[k][i]);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status check_bound_shape(const AllocationProblem& problem, const Choice& bound,
                               std::string_view name) {
  if (bound.empty()) return absl::OkStatus();
  if (bound.size() != problem.vms()) {
    return invalid_argument("{}: {} VMs, expected {}", name, bound.size(), problem.vms());
  }
  for (std::size_t v = 0; v < bound.size(); ++v) {
    if (bound[v].size() != problem.tiers()) {
      return invalid_argument("{}[{}]: {} tiers, expected {}", name, v, bound[v].size(),
                              problem.tiers());
    }
    for (std::size_t k = 0; k < bound[v].size(); ++k) {
      if (bound[v][k] >= problem.sizes.size()) {
        return out_of_range("{}[{}][{}]: index {} is past the last size, {}", name, v, k,
                            bound[v][k], problem.sizes.size() - 1);
      }
    }
  }
  return absl::OkStatus();
}

// A reservation of tier 0..j also holds for slower tiers, and a limit of tier 0..k also for faster
// ones.
absl::Status check_bounds_meet(const AllocationProblem& problem) {
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    for (std::size_t k = 0; k < problem.tiers(); ++k) {
      for (std::size_t j = 0; j <= k; ++j) {
        if (problem.low(v, j) > problem.high(v, k)) {
          return invalid_argument("lowest[{}][{}] = {} exceeds highest[{}][{}] = {}", v, j,
                                  problem.low(v, j), v, k, problem.high(v, k));
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status check_reservations_fit(const AllocationProblem& problem) {
  std::vector<std::size_t> low(problem.vms(), 0);
  Count reach = 0;  // the most that tiers 0..k can hold together, given the limits
  for (std::size_t k = 0; k < problem.tiers(); ++k) {
    Count reserved = 0;
    Count limit = 0;
    for (std::size_t v = 0; v < problem.vms(); ++v) {
      low[v] = std::max(low[v], problem.low(v, k));
      std::size_t high = problem.high(v, k);
      for (std::size_t j = k + 1; j < problem.tiers(); ++j)
        high = std::min(high, problem.high(v, j));
      reserved += problem.sizes[low[v]];
      limit += problem.sizes[high];
    }
    reach = std::min(reach + problem.capacities[k], limit);
    if (reserved > reach) {
      return invalid_argument(
          "lowest: {} blocks are reserved in tiers 0..{}, only {} are available", reserved, k,
          reach);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_targets(const Allocation& targets, std::span<const Count> capacities,
                           std::size_t vms) {
  if (targets.tiers() != capacities.size() || targets.vms() != vms) {
    return invalid_argument("targets: expected {} tiers x {} VMs, got {} x {}", capacities.size(),
                            vms, targets.tiers(), targets.vms());
  }
  for (std::size_t k = 0; k < capacities.size(); ++k) {
    // Stops before the sum could overflow a Count.
    Count left = capacities[k];
    for (const Count blocks : targets.tier(k)) {
      if (blocks < 0) return invalid_argument("targets: tier {} grants {} blocks", k, blocks);
      left = blocks > left ? -1 : left - blocks;
      if (left >= 0) continue;
      const auto all = targets.tier(k);
      return invalid_argument("targets: tier {} grants {} blocks of {}", k,
                              std::accumulate(all.begin(), all.end(), 0.0), capacities[k]);
    }
  }
  return absl::OkStatus();
}

Count AllocationProblem::unit() const {
  if (sizes.size() < 2) return 1;
  const Count step = sizes[1] - sizes[0];
  const auto differs = [step](Count a, Count b) { return b - a != step; };
  return std::ranges::adjacent_find(sizes, differs) == sizes.end() ? step : 0;
}

absl::Status AllocationProblem::validate() const {
  MCSIM_RETURN_IF_ERROR(check_sizes(sizes));
  if (capacities.empty()) return invalid_argument("capacities: there is no tier");
  for (std::size_t k = 0; k < tiers(); ++k) {
    if (capacities[k] < 0)
      return invalid_argument("capacities[{}]: {} is negative", k, capacities[k]);
  }
  MCSIM_RETURN_IF_ERROR(check_values(*this));
  MCSIM_RETURN_IF_ERROR(check_bound_shape(*this, lowest, "lowest"));
  MCSIM_RETURN_IF_ERROR(check_bound_shape(*this, highest, "highest"));
  MCSIM_RETURN_IF_ERROR(check_bounds_meet(*this));
  return check_reservations_fit(*this);
}

Allocation Solution::allocation(const AllocationProblem& problem) const {
  Allocation blocks(problem.tiers(), problem.vms());
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    Count faster = 0;
    for (std::size_t k = 0; k < problem.tiers(); ++k) {
      const Count cumulative = problem.sizes[choice[v][k]];
      blocks.at(k, v) = cumulative - faster;
      faster = cumulative;
    }
  }
  return blocks;
}

double objective_of(const AllocationProblem& problem, const Choice& choice) {
  double sum = 0;
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    for (std::size_t k = 0; k < problem.tiers(); ++k) sum += problem.value[v][k][choice[v][k]];
  }
  return sum;
}

absl::Status check_feasible(const AllocationProblem& problem, const Choice& choice) {
  if (choice.size() != problem.vms()) {
    return invalid_argument("choice: expected {} VMs, got {}", problem.vms(), choice.size());
  }
  std::vector<Count> granted(problem.tiers(), 0);
  for (std::size_t v = 0; v < problem.vms(); ++v) {
    if (choice[v].size() != problem.tiers()) {
      return invalid_argument("VM {}: expected {} tiers, got {}", v, problem.tiers(),
                              choice[v].size());
    }
    Count faster = 0;
    for (std::size_t k = 0; k < problem.tiers(); ++k) {
      const std::size_t i = choice[v][k];
      const std::size_t low = problem.low(v, k);
      const std::size_t high = problem.high(v, k);
      if (i < low || i > high) {
        return out_of_range("VM {}, tiers 0..{}: size index {} is outside its bounds [{}, {}]", v,
                            k, i, low, high);
      }
      if (problem.sizes[i] < faster) {
        return invalid_argument("VM {}: {} blocks in tiers 0..{} are fewer than the {} in 0..{}", v,
                                problem.sizes[i], k, faster, k - 1);
      }
      granted[k] += problem.sizes[i] - faster;
      faster = problem.sizes[i];
    }
  }
  for (std::size_t k = 0; k < problem.tiers(); ++k) {
    if (granted[k] > problem.capacities[k]) {
      return out_of_range("tier {}: {} blocks are granted, it has {}", k, granted[k],
                          problem.capacities[k]);
    }
  }
  return absl::OkStatus();
}

}  // namespace mcsim
