#include "core/engine/run/run_checks.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace mcsim {

absl::Status check_cuts(const Cuts& cuts, const Accesses& trace) {
  if (cuts.empty()) return invalid_argument("there are no intervals to count");
  if (!std::ranges::is_sorted(cuts)) return invalid_argument("cuts: they must not decrease");
  if (cuts.back() <= trace.request_count()) return absl::OkStatus();
  return out_of_range("cuts: {} is beyond the {} requests of the trace", cuts.back(),
                      trace.request_count());
}

absl::Status check_meters(const System& system, const Characterised& measured,
                          const Accesses& trace) {
  const std::vector<Timer> timers = system.timers();
  for (const Timer& timer : timers) {
    MCSIM_RETURN_IF_ERROR(
        check_intervals(trace.request_time, trace.time_base, timer.name, timer.clock.period));
  }
  std::set<std::string> names;
  for (const Meter& meter : system.meters()) {
    if (!names.insert(meter.name).second) {
      return invalid_argument("two meters are named '{}'", meter.name);
    }
    if (meter.timer < timers.size()) continue;
    return invalid_argument("meter '{}' is read by timer {} of {}", meter.name, meter.timer,
                            timers.size());
  }
  for (const MeterSpec& spec : meter_specs(system)) {
    const MeterResult* metered = measured.find(spec);
    if (metered == nullptr) {
      return invalid_argument(
          "a meter of the system was not measured: characterise the trace with its meter_specs()");
    }
    if (metered->vms == trace.vms.size()) continue;
    return invalid_argument("the meters were measured for {} VMs, the trace has {}", metered->vms,
                            trace.vms.size());
  }
  return absl::OkStatus();
}

bool is_repeated(const DecisionRecord& before, const DecisionRecord& record) {
  const auto compared = [](const Decision& decision) {
    return std::tie(decision.write_modes, decision.write_modes_by_tier, decision.admits,
                    decision.objective, decision.upper_bound, decision.evaluations,
                    decision.infeasible, decision.note, decision.throughputs);
  };
  const bool moves = !record.decision.placements.empty() || !record.decision.migrations.empty() ||
                     !before.decision.placements.empty() || !before.decision.migrations.empty();
  return !moves && before.request == record.request && before.timer == record.timer &&
         before.targets == record.targets && compared(before.decision) == compared(record.decision);
}

}  // namespace mcsim
