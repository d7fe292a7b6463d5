// The write modes of VMs.
#include "core/engine/tiers/dirty_tracker.hpp"

#include <algorithm>

namespace mcsim {

absl::Status DirtyTracker::check_modes(std::span<const WriteMode> modes) const {
  if (modes.size() == vm_count()) return absl::OkStatus();
  return invalid_argument("write modes: expected {} VMs, got {}", vm_count(), modes.size());
}

void DirtyTracker::assign(std::span<const WriteMode> modes) {
  modes_.clear();
  of_mode_ = {};
  for (const WriteMode mode : modes) {
    modes_.push_back(static_cast<EffectiveWriteMode>(mode));
    ++of_mode_[static_cast<std::size_t>(mode)];
  }
}

void DirtyTracker::assign_by_tier(ModesByTier modes) {
  rules_.by_tier = std::move(modes);
  assign(rules_.by_tier[0]);
  for (std::size_t vm = 0; vm < vm_count(); ++vm) {
    const WriteMode first = mode(vm);
    if (std::ranges::all_of(rules_.by_tier, [&](const auto& tier) { return tier[vm] == first; })) {
      continue;
    }
    modes_[vm] = EffectiveWriteMode::kByTier;
    --of_mode_[static_cast<std::size_t>(first)];
  }
}

}  // namespace mcsim
