#pragma once

#include "core/base/registry.hpp"
#include "core/engine/model/allocation.hpp"

namespace mcsim {

const Registry<Optimizer, OptimizerContext>& optimizer_registry();

}  // namespace mcsim
