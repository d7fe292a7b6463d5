#pragma once

#include <string>
#include <vector>

#include "core/base/status.hpp"

namespace mcsim {

// Loads a shared library that exports eviction policies (core/engine/policy/export_policies.hpp)
// and adds them to the registry; returns their names. It stays loaded. To load it again
// changes nothing. Fails, and adds none, if it is no such library, was built for another
// mcsim, or has a policy whose name is taken.
absl::StatusOr<std::vector<std::string>> load_policies(const std::string& path);

}  // namespace mcsim
