#include "optimizers/registry.hpp"

#include "optimizers/all.hpp"

namespace mcsim {

const Registry<Optimizer, OptimizerContext>& optimizer_registry() {
  static const Registry<Optimizer, OptimizerContext> registry("optimizer", AllOptimizers{});
  return registry;
}

}  // namespace mcsim
