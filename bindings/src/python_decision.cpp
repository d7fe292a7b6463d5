#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "bindings/src/python_system.hpp"

namespace mcsim::python {
namespace {

using Hosts = std::vector<std::size_t>;  // by VM

py::list list_or_empty(const py::object& given) {
  return given.is_none() ? py::list() : py::list(given);
}

// Check that the targets in a tier fit on each host.
absl::Status check_sums(const std::string& name, const Machine& machine, const Hosts& hosts,
                        const Allocation& targets, std::size_t tier) {
  std::map<std::size_t, double> sums;  // by host
  for (std::size_t v = 0; v < hosts.size(); ++v) {
    sums[hosts[v]] += static_cast<double>(targets.at(tier, v));
  }
  const Count capacity = machine.tiers[tier].capacity_blocks;
  for (const auto& [host, sum] : sums) {
    if (sum <= static_cast<double>(capacity)) continue;
    const std::string where =
        host < machine.fleet.hosts.size() ? " on " + machine.fleet.hosts[host] : "";
    return invalid_argument("{}: allocate() gave {} blocks of tier {}{}, which has {}", name, sum,
                            tier, where, capacity);
  }
  return absl::OkStatus();
}

absl::StatusOr<Allocation> targets_from(const py::object& answer, const std::string& name,
                                        const Machine& machine, const Hosts& hosts) {
  const Converted<double> array(answer);
  const std::size_t tiers = machine.tiers.size();
  const std::size_t vms = hosts.size();
  if (array.ndim() != 2 || static_cast<std::size_t>(array.shape(0)) != tiers ||
      static_cast<std::size_t>(array.shape(1)) != vms) {
    return invalid_argument("{}: allocate() must return an array of {} tiers x {} VMs", name, tiers,
                            vms);
  }
  Allocation targets(tiers, vms);
  const double* given = array.data();
  for (std::size_t k = 0; k < tiers; ++k) {
    for (std::size_t v = 0; v < vms; ++v, ++given) {
      // Large whole numbers do not fit; NaN compares false.
      if (!(*given >= 0 && *given < 0x1p63) || std::trunc(*given) != *given) {
        return invalid_argument("{}: allocate() gave {} blocks; whole numbers from 0 on only", name,
                                *given);
      }
      targets.at(k, v) = static_cast<Count>(*given);
    }
    MCSIM_RETURN_IF_ERROR(check_sums(name, machine, hosts, targets, k));
  }
  return targets;
}

// Names of VMs and hosts are already resolved in Python. Also updates the VMs' `hosts`.
absl::StatusOr<std::vector<Migration>> migrations_from(const py::list& answer,
                                                       const std::string& name, Hosts& hosts) {
  std::vector<Migration> migrations;
  for (const py::handle& given : answer) {
    const auto [vm, host, keep, rate, rule] =
        given.cast<std::tuple<std::size_t, std::size_t, bool, double, std::string>>();
    if (vm >= hosts.size()) {
      return out_of_range("{}: allocate() moves VM {} of {}", name, vm, hosts.size());
    }
    MCSIM_ASSIGN_OR_RETURN(const OnDemand on_demand,
                           choice_named<OnDemand>(name + ": allocate(): on_demand", rule));
    migrations.push_back({.vm = VmId(vm),
                          .host = host,
                          .keep = keep,
                          .blocks_per_second = rate,
                          .on_demand = on_demand});
    hosts[vm] = host;
  }
  return migrations;
}

absl::StatusOr<std::vector<WriteMode>> modes_from(const py::handle& given,
                                                  const std::string& name) {
  std::vector<WriteMode> modes;
  for (const std::string& mode : given.cast<std::vector<std::string>>()) {
    MCSIM_ASSIGN_OR_RETURN(modes.emplace_back(),
                           choice_named<WriteMode>(name + ": allocate(): write mode", mode));
  }
  return modes;
}

}  // namespace

absl::StatusOr<std::optional<Decision>> decision_from(const py::object& answer,
                                                      const std::string& name,
                                                      const Machine& machine,
                                                      const Observation& seen,
                                                      PlacedExtents* placed) {
  if (answer.is_none()) return std::nullopt;
  Decision decision;
  Hosts hosts;
  for (const VmCounters& vm : seen.counters) hosts.push_back(static_cast<std::size_t>(vm.host));
  if (!py::hasattr(answer, "targets")) {
    MCSIM_ASSIGN_OR_RETURN(decision.targets, targets_from(answer, name, machine, hosts));
    return decision;
  }
  const py::list migrations = list_or_empty(answer.attr("migrations"));
  MCSIM_ASSIGN_OR_RETURN(decision.migrations, migrations_from(migrations, name, hosts));
  decision.infeasible = answer.attr("infeasible").cast<std::string>();
  const py::list modes = list_or_empty(answer.attr("write_modes"));
  if (!modes.empty() && py::isinstance<py::str>(modes[0])) {
    MCSIM_ASSIGN_OR_RETURN(decision.write_modes, modes_from(modes, name));
  } else {
    for (const py::handle& tier : modes) {
      MCSIM_ASSIGN_OR_RETURN(decision.write_modes_by_tier.emplace_back(), modes_from(tier, name));
    }
  }
  decision.admits = list_or_empty(answer.attr("admits")).cast<std::vector<bool>>();
  if (const py::object targets = answer.attr("targets"); !targets.is_none()) {
    MCSIM_ASSIGN_OR_RETURN(decision.targets, targets_from(targets, name, machine, hosts));
  }
  if (const py::object tiers = answer.attr("placements"); placed && !tiers.is_none()) {
    MCSIM_ASSIGN_OR_RETURN(decision.placements, placed->moves_to(tiers));
  }
  return decision;
}

}  // namespace mcsim::python
