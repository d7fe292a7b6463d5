#include "core/engine/run/system.hpp"

namespace mcsim {

Actions actions_of(const Decision& decision) {
  Actions actions;
  if (decision.targets) actions.add(Action::kTargets);
  if (!decision.write_modes.empty()) actions.add(Action::kWriteModes);
  if (!decision.write_modes_by_tier.empty()) actions.add(Action::kWriteModesByTier);
  if (!decision.admits.empty()) actions.add(Action::kAdmission);
  if (!decision.placements.empty()) actions.add(Action::kPlacements);
  if (!decision.migrations.empty()) actions.add(Action::kMigrations);
  return actions;
}

absl::Status check_actions(const System& system) {
  return check_supported(system.actions(), system.host_supports());
}

}  // namespace mcsim
