#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"

namespace mcsim {

// The text without leading and trailing spaces.
std::string_view trimmed(std::string_view text);

// A component that is the parameter of another: its name and its own parameters.
struct ComponentSpec {
  std::string name;
  ParamMap params;
};

// Parse components separated by `separator`, each with its parameters in parentheses:
// `lru+2q(kin=0.1,kout=0.3)+talus(policy=arc(step=integer))`.
absl::StatusOr<std::vector<ComponentSpec>> parse_components(std::string_view text, char separator);

// Parse a single component.
absl::StatusOr<ComponentSpec> parse_component(std::string_view text);

}  // namespace mcsim
