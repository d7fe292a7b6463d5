#include "policies/hosts/data_path_text.hpp"

#include <algorithm>
#include <optional>

#include "core/base/suggest.hpp"

namespace mcsim {
namespace {

std::vector<std::string_view> split(std::string_view text, char divider) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(divider);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

absl::Status not_for_each(std::string_view parameter, std::size_t given, std::size_t tiers) {
  return invalid_argument("{}: {} entries for {} tier{}", parameter, given, tiers,
                          tiers == 1 ? "" : "s");
}

// Parse the component of each tier: one for all tiers, or one per tier.
absl::StatusOr<std::vector<ComponentSpec>> by_tier(const char* parameter, std::string_view text,
                                                   std::size_t tiers) {
  auto given = parse_components(text, '/');
  if (!given.ok()) return invalid_argument("{}: {}", parameter, message_of(given.status()));
  if (given->size() == 1) given->resize(tiers, given->front());
  if (given->size() == tiers) return given;
  return not_for_each(parameter, given->size(), tiers);
}

struct WriteChoice {
  std::optional<std::string_view> vm;  // none: all VMs
  std::vector<WriteMode> modes;        // by tier
};

absl::StatusOr<std::vector<WriteChoice>> write_choices(std::string_view text, std::size_t tiers) {
  std::vector<WriteChoice> choices;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const bool for_all = equals == std::string_view::npos;
    const std::string_view words = for_all ? item : trimmed(item.substr(equals + 1));
    std::vector<WriteMode> modes;
    for (const std::string_view word : split(words, '/')) {
      MCSIM_ASSIGN_OR_RETURN(modes.emplace_back(), choice_named<WriteMode>("writes", word));
    }
    if (modes.size() == 1) modes.resize(tiers, modes.front());
    if (modes.size() != tiers) return not_for_each("writes", modes.size(), tiers);
    choices.push_back({.vm = std::nullopt, .modes = std::move(modes)});
    if (!for_all) choices.back().vm = trimmed(item.substr(0, equals));
  }
  return choices;
}

}  // namespace

absl::StatusOr<TierTexts> read_tiers(std::string_view policy, std::string_view admission,
                                     std::size_t tiers) {
  TierTexts texts;
  MCSIM_ASSIGN_OR_RETURN(texts.policies, by_tier("policy", policy, tiers));
  MCSIM_ASSIGN_OR_RETURN(texts.filters, by_tier("admission", admission, tiers));
  return texts;
}

absl::StatusOr<std::vector<ComponentSpec>> read_prefetchers(std::string_view text,
                                                            std::size_t tiers) {
  MCSIM_ASSIGN_OR_RETURN(std::vector<ComponentSpec> given, by_tier("prefetch", text, tiers));
  const auto none = std::ranges::count(given, "none", &ComponentSpec::name);
  if (given.size() - static_cast<std::size_t>(none) <= 1) return given;
  return invalid_argument(
      "prefetch: only one tier can prefetch; expected an entry per tier, such as '{} / none'",
      given.front().name == "none" ? "readahead" : given.front().name);
}

absl::StatusOr<ModesByTier> read_writes(std::string_view text, std::size_t tiers,
                                        const std::vector<std::string_view>& vms) {
  MCSIM_ASSIGN_OR_RETURN(const std::vector<WriteChoice> choices, write_choices(text, tiers));
  ModesByTier modes(tiers, std::vector(vms.size(), WriteMode::kThrough));
  for (const auto& [vm, of_tiers] : choices) {
    if (!vm) {
      for (std::size_t k = 0; k < tiers; ++k) std::ranges::fill(modes[k], of_tiers[k]);
      continue;
    }
    const auto found = std::ranges::find(vms, *vm);
    if (found == vms.end()) {
      return not_found("writes: no VM '{}'{}", *vm, did_you_mean(*vm, vms));
    }
    const auto index = static_cast<std::size_t>(found - vms.begin());
    for (std::size_t k = 0; k < tiers; ++k) modes[k][index] = of_tiers[k];
  }
  return modes;
}

absl::StatusOr<ModesByTier> read_writes(std::string_view text, std::size_t tiers) {
  MCSIM_ASSIGN_OR_RETURN(const std::vector<WriteChoice> choices, write_choices(text, tiers));
  ModesByTier modes(tiers);
  for (const WriteChoice& choice : choices) {
    for (std::size_t k = 0; k < tiers; ++k) modes[k].push_back(choice.modes[k]);
  }
  return modes;
}

}  // namespace mcsim
