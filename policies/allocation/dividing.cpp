#include "policies/allocation/dividing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/share.hpp"
#include "core/base/suggest.hpp"

namespace mcsim {

absl::StatusOr<std::vector<double>> per_vm(const char* parameter, const PerVm& given,
                                           std::span<const VmInfo> vms, double otherwise,
                                           const char* kind) {
  std::vector<double> values(vms.size(), otherwise);
  std::vector<std::string_view> names;
  for (const VmInfo& vm : vms) names.push_back(vm.name);
  for (const auto& [name, value] : given) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      return not_found("{}: no VM '{}'{}", parameter, name, did_you_mean(name, names));
    }
    if (!(value >= 0) || std::isinf(value)) {
      return out_of_range("{}: {}: {} is not {} (0 or more)", parameter, name, value, kind);
    }
    values[static_cast<std::size_t>(found - names.begin())] = value;
  }
  return values;
}

std::vector<Count> proportional(Count blocks, std::span<const double> weights) {
  if (weights.empty()) return {};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Count> targets(weights.size());
  std::vector<double> remainder(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double share = sum > 0 ? weights[i] / sum : 1.0 / static_cast<double>(weights.size());
    const double exact = share * static_cast<double>(blocks);
    targets[i] = exact < static_cast<double>(blocks) ? static_cast<Count>(exact) : blocks;
    remainder[i] = exact - static_cast<double>(targets[i]);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return remainder[i]; });
  Count left = blocks - std::accumulate(targets.begin(), targets.end(), Count{0});
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++targets[order[i]];
  return targets;
}

void spread(Count left, const std::vector<bool>& active, std::span<Count> targets) {
  std::vector<std::size_t> takers;
  std::vector<double> weights;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!active[i]) continue;
    takers.push_back(i);
    weights.push_back(static_cast<double>(targets[i]));
  }
  if (takers.empty()) return;
  const std::vector<Count> extra = proportional(left, weights);
  for (std::size_t i = 0; i < takers.size(); ++i) targets[takers[i]] += extra[i];
}

std::size_t useful_choice(const AllocationProblem& problem, const Solution& solution,
                          std::size_t vm, std::size_t tier) {
  const std::vector<double>& worth = problem.value[vm][tier];
  const std::size_t faster = tier == 0 ? 0 : solution.choice[vm][tier - 1];
  const std::size_t least = std::max(problem.low(vm, tier), faster);
  std::size_t choice = solution.choice[vm][tier];
  while (choice > least && worth[choice - 1] == worth[choice]) --choice;
  return choice;
}

Allocation proportional(const Machine& machine, std::span<const double> weights) {
  Allocation targets(machine.tiers.size(), weights.size());
  for (std::size_t k = 0; k < machine.tiers.size(); ++k) {
    const std::vector<Count> of_tier = proportional(machine.tiers[k].capacity_blocks, weights);
    for (std::size_t vm = 0; vm < of_tier.size(); ++vm) targets.at(k, vm) = of_tier[vm];
  }
  return targets;
}

Allocation over_tiers(const Machine& machine, std::span<const Count> blocks) {
  Allocation targets(machine.tiers.size(), blocks.size());
  std::vector<Count> left(blocks.begin(), blocks.end());
  Count capacity = 0;  // of this tier and all slower ones
  for (const TierSpec& tier : machine.tiers) capacity += tier.capacity_blocks;
  for (std::size_t k = 0; k < targets.tiers() && capacity > 0; ++k) {
    const Count total = std::accumulate(left.begin(), left.end(), Count{0});
    const Count of_tier = machine.tiers[k].capacity_blocks;
    const auto full = static_cast<double>(total) / static_cast<double>(capacity);
    const auto here = k + 1 == targets.tiers() ? total : floor_share(full, of_tier);
    const std::vector<double> weights(left.begin(), left.end());
    const std::vector<Count> parts = proportional(here, weights);
    for (std::size_t vm = 0; vm < left.size() && total > 0; ++vm) {
      targets.at(k, vm) = parts[vm];
      left[vm] -= parts[vm];
    }
    capacity -= of_tier;
  }
  return targets;
}

std::vector<std::vector<std::size_t>> by_host(const Machine& machine,
                                              std::span<const std::size_t> host_of) {
  std::vector<std::vector<std::size_t>> vms(machine.fleet.count());
  for (std::size_t vm = 0; vm < host_of.size(); ++vm) vms[host_of[vm]].push_back(vm);
  return vms;
}

Allocation over_tiers(const Machine& machine, std::span<const Count> blocks,
                      std::span<const std::size_t> host_of) {
  Allocation all(machine.tiers.size(), blocks.size());
  for (const std::vector<std::size_t>& vms : by_host(machine, host_of)) {
    std::vector<Count> here;
    for (const std::size_t vm : vms) here.push_back(blocks[vm]);
    const Allocation targets = over_tiers(machine, here);
    for (std::size_t i = 0; i < vms.size(); ++i) {
      for (std::size_t k = 0; k < all.tiers(); ++k) all.at(k, vms[i]) = targets.at(k, i);
    }
  }
  return all;
}

Count in_all_tiers(const Allocation& targets, std::size_t vm) {
  Count sum = 0;
  for (std::size_t k = 0; k < targets.tiers(); ++k) sum += targets.at(k, vm);
  return sum;
}

}  // namespace mcsim
