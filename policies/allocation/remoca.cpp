#include "policies/allocation/remoca.hpp"

#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<System>> Remoca::make(Params params, SystemContext context) {
  const Nanoseconds fails = params.fails_at.ns;
  const Nanoseconds returns = params.returns_at.ns;
  if (returns > 0 && (fails == 0 || returns <= fails)) {
    return invalid_argument("returns_at: expected to be later than fails_at");
  }
  return make_checked<Remoca>(std::move(params), std::move(context));
}

std::vector<Timer> Remoca::timers() const {
  std::vector<Timer> timers;
  for (const auto& [name, at] :
       {std::pair{"failure", params_.fails_at}, std::pair{"return", params_.returns_at}}) {
    if (at.ns > 0) timers.push_back({.name = name, .clock = {.period = at.ns}});
  }
  return timers;
}

absl::StatusOr<std::unique_ptr<Host>> Remoca::make_host(const Accesses& trace) {
  Division division = shared_by_all(context_.machine, trace);
  division.changeable = params_.fails_at.ns > 0;
  return make_data_path(params_, context_.machine, trace, division, context_.seed);
}

// A timer fires every period; only the first time counts. All VMs share a tier, so the sum of the
// targets is its size.
absl::StatusOr<std::optional<Decision>> Remoca::decide(const Observation& seen) {
  if (seen.interval > 0) return std::nullopt;
  const std::vector<TierSpec>& tiers = context_.machine.tiers;
  Decision decision{.targets = Allocation(tiers.size(), seen.vms())};
  for (std::size_t k = 0; k < tiers.size(); ++k) {
    const bool lost = k + 1 == tiers.size() && seen.timer == 0;
    decision.targets->at(k, 0) = lost ? 0 : tiers[k].capacity_blocks;
  }
  return decision;
}

}  // namespace mcsim
