#include "policies/allocation/eci_cache.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/share.hpp"

namespace mcsim {

absl::StatusOr<std::optional<Decision>> EciCache::decide(const Observation& seen) {
  choose_modes(seen);
  MCSIM_ASSIGN_OR_RETURN(std::optional<Decision> decision, OneCacheMaximizer::decide(seen));
  if (!decision) decision = Decision{};
  decision->write_modes = modes_;
  return decision;
}

void EciCache::choose_modes(const Observation& seen) {
  modes_.resize(seen.vms(), WriteMode::kBack);
  asked_.resize(seen.vms(), 0);
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    const ClassCounts& classes = seen.meter("classes").classes[v];
    const Count rewrites = classes.of(RequestClass::kWaw) + classes.of(RequestClass::kWar);
    const Count all =
        params_.write_share_of == EciShareOf::kReuses ? classes.reuses() : classes.accesses();
    if (all == 0) continue;
    const double share = static_cast<double>(rewrites) / static_cast<double>(all);
    const WriteMode wanted = share > params_.theta ? WriteMode::kAround : WriteMode::kBack;
    asked_[v] = wanted == modes_[v] ? 0 : asked_[v] + 1;
    if (asked_[v] < params_.hysteresis) continue;
    modes_[v] = wanted;
    asked_[v] = 0;
  }
}

std::string EciCache::prepare(const Observation& seen) {
  const Count equal = capacity() / static_cast<Count>(seen.vms());
  const Count least = std::min(params_.min_blocks, equal);
  Count all = 0;
  for (std::size_t v = 0; v < seen.vms(); ++v) {
    if (!active(seen, v)) continue;
    const Count size = std::max(least, size_for(useful(seen, v)));
    bounds_[v] = {.least = size, .most = size};
    all += size;
  }
  const std::string floors =
      least == params_.min_blocks
          ? ""
          : fmt::format("min_blocks: {} VMs need {} blocks each of {}, each gets at least {}",
                        seen.vms(), params_.min_blocks, capacity(), least);
  if (all <= capacity()) return floors;
  for (Bounds& of_vm : bounds_) of_vm.least = least;
  return fmt::format("the useful reuse distances need {} blocks, the capacity is {}{}{}", all,
                     capacity(), floors.empty() ? "" : "; ", floors);
}

double EciCache::worth(const Observation& seen, const Stage&, std::size_t vm, std::size_t,
                       Count blocks) const {
  const RunningCurve& curve = useful(seen, vm);
  const Count accesses = seen.meter("classes").classes[vm].accesses();
  if (accesses == 0) return 0;
  const auto ratio = [&](Count held) {
    return static_cast<double>(curve.hits(held)) / static_cast<double>(accesses);
  };
  return -weight(seen, vm) * latency().mean_read_ns(vm, blocks, ratio);
}

const RunningCurve& EciCache::useful(const Observation& seen, std::size_t vm) const {
  const bool reads_alone = params_.drop_writes && modes_[vm] == WriteMode::kAround;
  return seen.meter(reads_alone ? "read curve around" : "read curve").curves[vm];
}

Count EciCache::size_for(const RunningCurve& curve) const {
  const Count largest = curve.saturation();
  return curve.capacity_for(ceil_share(params_.quantile, curve.hits(largest)));
}

}  // namespace mcsim
