#include "core/locality/estimators/registry.hpp"

#include "core/locality/estimators/all.hpp"

namespace mcsim {

const Registry<Estimator, EstimatorContext>& estimator_registry() {
  static const Registry<Estimator, EstimatorContext> registry("estimator", AllEstimators{});
  return registry;
}

}  // namespace mcsim
