#pragma once

#include "core/base/registry.hpp"
#include "core/engine/run/system.hpp"

namespace mcsim {

// The systems of all.hpp, without their headers.
const Registry<System, SystemContext>& system_registry();

}  // namespace mcsim
