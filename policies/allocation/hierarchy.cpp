#include "policies/allocation/hierarchy.hpp"

#include <map>
#include <vector>

#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> Hierarchy::make_host(const Accesses& trace) {
  const Machine& machine = context_.machine;
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> groups,
                         per_vm("groups", params_.groups, trace.vms, 0));
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> weights,
                         per_vm("shares", params_.shares, trace.vms, 1));
  Division division = shared_by_all(machine, trace);
  std::map<double, std::size_t> part_of_group;
  std::vector<double> weight_of_part;
  for (std::size_t vm = 0; vm < trace.vms.size(); ++vm) {
    const auto [part, is_new] = part_of_group.try_emplace(groups[vm], weight_of_part.size());
    if (is_new) weight_of_part.push_back(0);
    division.part_of[vm] = part->second;
    weight_of_part[part->second] += weights[vm];
  }
  for (std::size_t k = 0; k < machine.tiers.size(); ++k) {
    division.targets[k] = proportional(machine.tiers[k].capacity_blocks, weight_of_part);
  }
  return make_data_path(params_, machine, trace, division, context_.seed);
}

}  // namespace mcsim
