#include "policies/allocation/mixed_caching.hpp"

#include <algorithm>

#include "core/base/share.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<System>> MixedCaching::make(Params params, SystemContext context) {
  const std::size_t tiers = context.machine.tier_count();
  if (tiers != 2) {
    return invalid_argument("needs 2 tiers (the guests' memory and the host's cache), got {}",
                            tiers);
  }
  return make_checked<MixedCaching>(std::move(params), std::move(context));
}

std::vector<Timer> MixedCaching::timers() const {
  const Nanoseconds period = params_.period.ns > 0 ? params_.period.ns : context_.interval;
  return {{.name = "period", .clock = {.period = period}}};
}

absl::StatusOr<std::unique_ptr<Host>> MixedCaching::make_host(const Accesses& trace) {
  const std::vector<double> equal(trace.vms.size(), 1.0);
  first_ = proportional(context_.machine, equal);
  return make_data_path(params_, context_.machine, trace,
                        one_part_each(first_, {.mode = ResizeMode::kEager}), context_.seed);
}

absl::StatusOr<std::optional<Decision>> MixedCaching::decide(const Observation& seen) {
  Allocation targets = seen.current;
  for (std::size_t vm = 0; vm < seen.vms(); ++vm) {
    const Count now = targets.at(0, vm);
    const Count least = ceil_share(params_.least, first_.at(0, vm));
    targets.at(0, vm) = std::min(now, std::max(floor_share(params_.factor, now), least));
  }
  if (targets == seen.current) return std::nullopt;
  return Decision{.targets = std::move(targets)};
}

}  // namespace mcsim
