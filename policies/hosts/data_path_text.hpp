#pragma once

#include <string_view>
#include <vector>

#include "core/base/component_spec.hpp"
#include "core/base/status.hpp"
#include "core/engine/tiers/write_modes.hpp"

// What the parameters of a data path say in words: "lru / arc", "through / back, web_0=back".
namespace mcsim {

// What each tier is made of, fastest first.
struct TierTexts {
  std::vector<ComponentSpec> policies;
  std::vector<ComponentSpec> filters;
};

// Either is said once for all tiers, or of each, divided by slashes.
absl::StatusOr<TierTexts> read_tiers(std::string_view policy, std::string_view admission,
                                     std::size_t tiers);

// A mode for all VMs, or modes of some; the later word counts. Each is said as above.
absl::StatusOr<ModesByTier> read_writes(std::string_view text, std::size_t tiers,
                                        const std::vector<std::string_view>& vms);
// Before it is known which VMs there are, all that is said, in the place of VMs.
absl::StatusOr<ModesByTier> read_writes(std::string_view text, std::size_t tiers);

}  // namespace mcsim
