#include "policies/allocation/cloudcache.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/allocation/dividing.hpp"

namespace mcsim {
namespace {

std::vector<double> scaled(Count blocks, std::span<const double> wanted) {
  const std::vector<Count> parts = proportional(blocks, wanted);
  return {parts.begin(), parts.end()};
}

}  // namespace

absl::StatusOr<std::optional<Decision>> CloudCache::decide(const Observation& seen) {
  MCSIM_ASSIGN_OR_RETURN(std::optional<Decision> decision, DividedCache::decide(seen));
  for (std::size_t vm = 0; vm < seen.vms(); ++vm) {
    if (host_of()[vm] == static_cast<std::size_t>(seen.counters[vm].host)) continue;
    decision->migrations.push_back({.vm = VmId(vm),
                                    .host = host_of()[vm],
                                    .keep = params_.migrate_keep,
                                    .blocks_per_second = params_.migrate_rate,
                                    .on_demand = params_.on_demand});
  }
  return decision;
}

std::string CloudCache::divide(const Observation& seen, std::vector<Count>& blocks) {
  const Forecast::Rules rules{params_.smoothing, params_.history, params_.spike};
  std::vector<double> wanted;
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    const bool present = seen.arrived[vm] && !seen.departed[vm];
    const auto working_set = static_cast<double>(seen.meter("distinct").distinct[vm]);
    wanted.push_back(present ? std::round(std::max(0.0, forecasts_[vm].next(working_set, rules)))
                             : 0);
  }
  if (params_.overload == Overload::kMigrate) relieve(seen, wanted);
  const std::vector<std::vector<std::size_t>> vms = by_host(machine(), host_of());
  std::string why;
  for (std::size_t host = 0; host < vms.size(); ++host) {
    const std::string of_host = vms.size() > 1 ? " of " + machine().fleet.hosts[host] : "";
    std::vector<double> here;
    for (const std::size_t vm : vms[host]) here.push_back(wanted[vm]);
    const double sum = std::accumulate(here.begin(), here.end(), 0.0);
    const bool enough = sum <= static_cast<double>(capacity());
    if (!enough) here = scaled(capacity(), here);
    for (std::size_t i = 0; i < here.size(); ++i) {
      blocks[vms[host][i]] = static_cast<Count>(here[i]);
    }
    if (enough) continue;
    why += fmt::format("{}the working sets of the VMs{} are {} blocks, the capacity is {}",
                       why.empty() ? "" : "; ", of_host, sum, capacity());
  }
  return why;
}

// Migrate VMs away from hosts whose working sets exceed their space.
void CloudCache::relieve(const Observation& seen, std::span<const double> wanted) {
  std::vector<double> load(machine().fleet.count(), 0);
  for (std::size_t vm = 0; vm < wanted.size(); ++vm) load[host_of()[vm]] += wanted[vm];
  for (;;) {
    const auto fullest = static_cast<std::size_t>(std::ranges::max_element(load) - load.begin());
    double least = load[fullest];
    if (least <= static_cast<double>(capacity())) return;
    std::size_t moves = wanted.size();
    std::size_t goes_to = fullest;
    for (std::size_t vm = 0; vm < wanted.size(); ++vm) {
      if (host_of()[vm] != fullest || seen.counters[vm].on_the_way > 0) continue;
      for (std::size_t host = 0; host < load.size(); ++host) {
        const double then = std::max(load[fullest] - wanted[vm], load[host] + wanted[vm]);
        if (host == fullest || then >= least) continue;
        least = then;
        moves = vm;
        goes_to = host;
      }
    }
    if (moves == wanted.size()) return;
    load[fullest] -= wanted[moves];
    load[goes_to] += wanted[moves];
    host_of()[moves] = goes_to;
  }
}

}  // namespace mcsim
