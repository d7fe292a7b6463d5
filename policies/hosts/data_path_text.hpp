#pragma once

#include <string_view>
#include <vector>

#include "core/base/component_spec.hpp"
#include "core/base/status.hpp"
#include "core/engine/model/write_modes.hpp"

// Parsers of the text parameters of a data path: "lru / arc", "through / back, web_0=back".
namespace mcsim {

// The policy and the admission filter of each tier, fastest first.
struct TierTexts {
  std::vector<ComponentSpec> policies;
  std::vector<ComponentSpec> filters;
};

// Parse policies and admission filters: one for all tiers, or one per tier, separated by slashes.
absl::StatusOr<TierTexts> read_tiers(std::string_view policy, std::string_view admission,
                                     std::size_t tiers);

// Parse prefetchers: one per tier, separated by slashes, of which at most one is not `none`.
absl::StatusOr<std::vector<ComponentSpec>> read_prefetchers(std::string_view text,
                                                            std::size_t tiers);

// Parse write modes: one for all VMs and exceptions for named VMs; a later entry overrides an
// earlier one. Each entry has one mode for all tiers or one per tier.
absl::StatusOr<ModesByTier> read_writes(std::string_view text, std::size_t tiers,
                                        const std::vector<std::string_view>& vms);
// Parse write modes before the VMs are known: the result has all entries in place of VMs.
absl::StatusOr<ModesByTier> read_writes(std::string_view text, std::size_t tiers);

}  // namespace mcsim
