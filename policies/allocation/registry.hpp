#pragma once

#include "core/base/registry.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// Return the registry of the systems in all.hpp. This header does not include their headers.
const Registry<System, SystemContext>& system_registry();

}  // namespace mcsim
