#include "core/engine/run/system.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

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

absl::Status check_delayed_hits(std::string_view name, const System& system,
                                const Machine& machine) {
  if (!machine.has_delayed_hits() || system.can_delay_hits()) return absl::OkStatus();
  return invalid_argument("delayed_hits: {} has no rule for them: its tiers must do without", name);
}

const Reading& Observation::meter(std::string_view name) const {
  const auto found = std::ranges::find(meters, name, &Reading::name);
  if (found == meters.end()) {
    throw std::out_of_range(fmt::format("the system declares no meter '{}'", name));
  }
  return *found;
}

std::vector<MeterSpec> meter_specs(const System& system) {
  const std::vector<Timer> timers = system.timers();
  std::vector<MeterSpec> specs;
  for (const Meter& meter : system.meters()) {
    if (meter.timer >= timers.size()) continue;
    specs.push_back({.clock = timers[meter.timer].clock, .what = meter.what});
  }
  return specs;
}

ExpandOptions view_of(const System& system, ExpandOptions experiment) {
  ExpandOptions view = system.trace_view(experiment);
  view.addresses |= system.keeps_addresses();
  for (const Meter& meter : system.meters()) {
    const auto* const load = std::get_if<LoadMeter>(&meter.what);
    view.responses |= std::holds_alternative<ResponseMeter>(meter.what);
    view.bytes |= load != nullptr && load->bytes;
  }
  return view;
}

}  // namespace mcsim
