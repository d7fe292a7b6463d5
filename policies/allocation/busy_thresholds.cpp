#include "policies/allocation/busy_thresholds.hpp"

#include <algorithm>

namespace mcsim {

absl::Status BusyThresholds::begin(std::span<const VmInfo> vms) {
  constexpr double kNotGiven = -1;
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> requests,
                         per_vm("request_thresholds", params_.request_thresholds, vms, kNotGiven));
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> misses,
                         per_vm("miss_thresholds", params_.miss_thresholds, vms, kNotGiven));
  states_.clear();
  for (std::size_t vm = 0; vm < vms.size(); ++vm) {
    states_.push_back({.given = {requests[vm], misses[vm]}, .busiest = {}});
  }
  return absl::OkStatus();
}

void BusyThresholds::add(std::size_t vm, Window window) {
  std::vector<Window>& busiest = states_[vm].busiest;
  const auto after = std::ranges::find_if(
      busiest, [&](const Window& other) { return other.requests < window.requests; });
  busiest.insert(after, window);
  if (busiest.size() > static_cast<std::size_t>(params_.busy_windows)) busiest.pop_back();
}

std::optional<BusyThresholds::Window> BusyThresholds::of(std::size_t vm) const {
  const auto& [given, busiest] = states_[vm];
  if (given.requests >= 0 && given.misses >= 0) return given;
  if (busiest.size() < static_cast<std::size_t>(params_.busy_windows)) return std::nullopt;
  Window sum;
  for (const Window& window : busiest) {
    sum.requests += window.requests;
    sum.misses += window.misses;
  }
  const auto count = static_cast<double>(busiest.size());
  return Window{
      given.requests < 0 ? params_.busy_requests * (sum.requests / count) : given.requests,
      given.misses < 0 ? params_.busy_misses * (sum.misses / count) : given.misses};
}

}  // namespace mcsim
