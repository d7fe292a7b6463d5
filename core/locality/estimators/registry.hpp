#pragma once

#include "core/base/registry.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// The registry of the estimators in all.hpp.
const Registry<Estimator, EstimatorContext>& estimator_registry();

}  // namespace mcsim
