#include "core/engine/model/actions.hpp"

#include <vector>

#include <fmt/ranges.h>

namespace mcsim {

std::string names_of(Actions actions) {
  std::vector<const char*> names;
  for (const auto& [name, action] : Choices<Action>::names) {
    if (actions.has(action)) names.push_back(name);
  }
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

absl::Status check_supported(Actions decided, Actions by_host) {
  const Actions beyond = decided.without(by_host);
  if (beyond == Actions()) return absl::OkStatus();
  return invalid_argument("decisions change {}; the host can change {}", names_of(beyond),
                          names_of(by_host));
}

}  // namespace mcsim
