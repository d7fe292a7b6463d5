#pragma once

#include <string>
#include <vector>

#include "core/base/status.hpp"

namespace mcsim {

// Load a shared library that exports eviction policies (core/engine/policy/export_policies.hpp),
// add them to the registry, and return their names. The library stays loaded; loading it again has
// no effect. On failure nothing is added: no such library, built for another mcsim, or the name of
// a policy is taken.
absl::StatusOr<std::vector<std::string>> load_policies(const std::string& path);

}  // namespace mcsim
