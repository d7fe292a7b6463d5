#include "policies/allocation/karma.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/share.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {
namespace {

Count sum(std::span<const Count> of) { return std::accumulate(of.begin(), of.end(), Count{0}); }

std::vector<Count> negative(std::vector<Count> of) {
  for (Count& each : of) each = -each;
  return of;
}

}  // namespace

std::vector<Count> lend(std::span<const Count> credits, std::span<const Count> wanted,
                        Count supply) {
  // VMs with more credits are brought down to one common level: the lowest for which the supply
  // suffices.
  const auto taken_at = [&](Count level) {
    std::vector<Count> taken;
    for (std::size_t i = 0; i < credits.size(); ++i) {
      taken.push_back(std::clamp<Count>(credits[i] - level, 0, wanted[i]));
    }
    return taken;
  };
  if (sum(wanted) <= supply) return {wanted.begin(), wanted.end()};
  Count high = *std::ranges::max_element(credits);
  Count low = *std::ranges::min_element(credits) - *std::ranges::max_element(wanted);
  while (low < high) {
    const Count level = low + (high - low) / 2;
    if (sum(taken_at(level)) <= supply) {
      high = level;
    } else {
      low = level + 1;
    }
  }
  std::vector<Count> taken = taken_at(high);
  Count left = supply - sum(taken);
  for (std::size_t i = 0; i < taken.size() && left > 0; ++i) {
    if (credits[i] - taken[i] != high || taken[i] == wanted[i]) continue;
    ++taken[i];
    --left;
  }
  return taken;
}

std::vector<Meter> Karma::meters() const {
  if (params_.demand == Demand::kDistinct) {
    return {{.what = DistinctMeter{.window = params_.window}}};
  }
  return with_around(
      {{.what = CurveMeter{.scope = DistanceScope::kWarm, .window = params_.window}}});
}

std::string Karma::divide(const Observation& seen, std::vector<Count>& blocks) {
  std::vector<std::size_t> vms;  // present VMs
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    blocks[vm] = 0;
    if (seen.arrived[vm] && !seen.departed[vm]) vms.push_back(vm);
  }
  if (vms.empty()) return {};
  const std::vector<Count> fair = proportional(capacity(), std::vector<double>(vms.size(), 1.0));
  std::vector<Count> credits;
  std::vector<Count> wanted;
  std::vector<Count> lent;
  Count supply = capacity();
  for (std::size_t i = 0; i < vms.size(); ++i) {
    const Count sure = floor_share(params_.alpha, fair[i]);
    const Count needs = needed(seen, vms[i]);
    credits.push_back(credits_[vms[i]]);
    wanted.push_back(std::max<Count>(needs - sure, 0));
    lent.push_back(std::max<Count>(sure - needs, 0));
    blocks[vms[i]] = std::min(needs, sure);
    supply -= blocks[vms[i]];
  }
  const std::vector<Count> borrowed = lend(credits, wanted, supply);
  // The VM with the fewest credits lends first. A VM that lends borrows nothing.
  const std::vector<Count> earned = lend(negative(credits), lent, sum(borrowed));
  for (std::size_t i = 0; i < vms.size(); ++i) credits[i] += earned[i] - borrowed[i];
  const Count shared = sum(borrowed) - sum(earned);
  const auto all = static_cast<Count>(vms.size());
  const std::vector<Count> rest =
      lend(negative(credits), std::vector<Count>(vms.size(), 1), shared % all);
  for (std::size_t i = 0; i < vms.size(); ++i) {
    blocks[vms[i]] += borrowed[i];
    credits_[vms[i]] = credits[i] + shared / all + rest[i];
  }
  return {};
}

Count Karma::needed(const Observation& seen, std::size_t vm) const {
  if (params_.demand == Demand::kDistinct) return seen.meter("distinct").distinct[vm];
  const RunningCurve& curve = curves()[vm];
  const Count most = curve.hits(curve.saturation());
  if (most == 0) return 0;
  return curve.capacity_for(ceil_share(params_.enough, most));
}

}  // namespace mcsim
