#include "policies/allocation/mode_curves.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "policies/hosts/data_path_text.hpp"

namespace mcsim {
namespace {

constexpr std::string_view kAroundSuffix = " around";

// An invalid `writes` is reported when the data path is made.
bool names_around(const DataPathParams& path, std::size_t tiers) {
  const auto modes = read_writes(path.writes, tiers);
  return modes.ok() && std::ranges::any_of(*modes, [](const std::vector<WriteMode>& tier) {
           return std::ranges::find(tier, WriteMode::kAround) != tier.end();
         });
}

}  // namespace

std::vector<Meter> with_curves_around(std::vector<Meter> meters, const DataPathParams& path,
                                      std::size_t tiers) {
  if (!names_around(path, tiers)) return meters;
  const std::size_t declared = meters.size();
  for (std::size_t i = 0; i < declared; ++i) {
    Meter around = meters[i];
    auto* const curve = std::get_if<CurveMeter>(&around.what);
    if (curve == nullptr || (path.update_around && curve->ops == OpFilter::kAll)) continue;
    curve->ops = OpFilter::kReads;
    curve->between = path.between_around();
    around.name += kAroundSuffix;
    meters.push_back(std::move(around));
  }
  return meters;
}

std::vector<bool> writes_around(const ModesByTier& modes, std::size_t vms) {
  std::vector<bool> around(vms, true);
  for (const std::vector<WriteMode>& tier : modes) {
    for (std::size_t vm = 0; vm < vms; ++vm) {
      around[vm] = around[vm] && tier[vm] == WriteMode::kAround;
    }
  }
  return around;
}

absl::StatusOr<std::vector<bool>> writes_around(const DataPathParams& path, std::size_t tiers,
                                                std::span<const VmInfo> vms) {
  std::vector<std::string_view> names;
  for (const VmInfo& vm : vms) names.push_back(vm.name);
  MCSIM_ASSIGN_OR_RETURN(const ModesByTier modes, read_writes(path.writes, tiers, names));
  return writes_around(modes, vms.size());
}

absl::Status ModeCurves::set_modes(const DataPathParams& path, std::size_t tiers,
                                   std::span<const VmInfo> vms) {
  MCSIM_ASSIGN_OR_RETURN(around_, writes_around(path, tiers, vms));
  return absl::OkStatus();
}

std::span<const RunningCurve> ModeCurves::select(const Observation& seen, std::string_view name) {
  const auto find = [&](std::string_view of) {
    return std::ranges::find(seen.meters, of, &Reading::name);
  };
  const auto declared = find(name);
  if (declared == seen.meters.end()) return {};
  const std::span<const RunningCurve> all = declared->curves;
  const auto around = find(std::string(name).append(kAroundSuffix));
  if (around == seen.meters.end() || std::ranges::none_of(around_, std::identity())) return all;
  mixed_.assign(all.begin(), all.end());
  for (std::size_t vm = 0; vm < all.size(); ++vm) {
    if (!around_[vm]) continue;
    mixed_[vm] = around->curves[vm];
    mixed_[vm].set_accesses(all[vm].accesses());
  }
  return mixed_;
}

}  // namespace mcsim
