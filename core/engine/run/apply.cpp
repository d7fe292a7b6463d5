#include "core/engine/run/apply.hpp"

#include <string_view>
#include <vector>

namespace mcsim {
namespace {

// Check that each list of a decision has a value for every VM, or for every tier and VM. Hosts
// without a capability ignore such lists.
absl::Status check_lengths(const Decision& decision, std::size_t tiers, std::size_t vms) {
  const auto by_vm = [&](std::string_view name, std::size_t given) -> absl::Status {
    if (given == 0 || given == vms) return absl::OkStatus();
    return invalid_argument("{}: expected {} VMs, got {}", name, vms, given);
  };
  const auto by_tier = [&](std::string_view name, std::size_t given,
                           std::size_t given_vms) -> absl::Status {
    if (given == tiers && given_vms == vms) return absl::OkStatus();
    return invalid_argument("{}: expected {} tiers x {} VMs, got {} x {}", name, tiers, vms, given,
                            given_vms);
  };
  if (decision.targets) {
    MCSIM_RETURN_IF_ERROR(by_tier("targets", decision.targets->tiers(), decision.targets->vms()));
  }
  for (const std::vector<WriteMode>& tier : decision.write_modes_by_tier) {
    MCSIM_RETURN_IF_ERROR(
        by_tier("write modes by tier", decision.write_modes_by_tier.size(), tier.size()));
  }
  MCSIM_RETURN_IF_ERROR(by_vm("write modes", decision.write_modes.size()));
  MCSIM_RETURN_IF_ERROR(by_vm("admits", decision.admits.size()));
  return by_vm("throughputs", decision.throughputs.size());
}

}  // namespace

absl::Status apply(const Decision& decision, Actions declared, const Allocation& current,
                   Nanoseconds now, Host& host) {
  const Actions beyond = actions_of(decision).without(declared);
  if (beyond != Actions()) {
    return invalid_argument("a decision changes {}; its system declares that it decides {}",
                            names_of(beyond), names_of(declared));
  }
  const std::vector<WriteMode>& modes = decision.write_modes;
  const ModesByTier& by_tier = decision.write_modes_by_tier;
  const std::vector<bool>& admits = decision.admits;
  if (!modes.empty() && !by_tier.empty()) {
    return invalid_argument("write modes: expected by VM or by tier and VM, got both");
  }
  MCSIM_RETURN_IF_ERROR(check_lengths(decision, current.tiers(), current.vms()));
  if (!decision.placements.empty()) {
    if (actions_of(decision) != Actions{Action::kPlacements}) {
      return invalid_argument(
          "placements: expected no other actions in the decision, since the host might refuse the "
          "placements and keep those");
    }
    return host.place(decision.placements);
  }
  // From here on only the first change of the host can be refused.
  if (!by_tier.empty()) MCSIM_RETURN_IF_ERROR(host.check_write_modes_by_tier(by_tier));
  if (!decision.migrations.empty()) {
    const Allocation& targets = decision.targets ? *decision.targets : current;
    MCSIM_RETURN_IF_ERROR(host.migrate(decision.migrations, targets, now));
  } else if (decision.targets) {
    MCSIM_RETURN_IF_ERROR(host.resize(*decision.targets));
  }
  if (!modes.empty()) MCSIM_RETURN_IF_ERROR(host.set_write_modes(modes));
  if (!by_tier.empty()) MCSIM_RETURN_IF_ERROR(host.set_write_modes_by_tier(by_tier));
  return admits.empty() ? absl::OkStatus() : host.set_admission(admits);
}

}  // namespace mcsim
