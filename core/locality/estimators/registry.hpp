#pragma once

#include "core/base/registry.hpp"
#include "core/locality/estimator.hpp"

namespace mcsim {

// all.hpp is the list.
const Registry<Estimator, EstimatorContext>& estimator_registry();

}  // namespace mcsim
