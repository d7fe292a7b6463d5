#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"

namespace mcsim {

// Without the spaces around it.
std::string_view trimmed(std::string_view text);

// A component as a parameter of another names it.
struct ComponentSpec {
  std::string name;
  ParamMap params;
};

// Reads components with `separator` between them, their parameters in parentheses:
// `lru+2q(kin=0.1,kout=0.3)+talus(policy=arc(step=integer))`.
absl::StatusOr<std::vector<ComponentSpec>> parse_components(std::string_view text, char separator);

// Reads one.
absl::StatusOr<ComponentSpec> parse_component(std::string_view text);

}  // namespace mcsim
