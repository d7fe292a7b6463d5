#pragma once

#include "core/base/registry.hpp"
#include "core/locality/estimators/exact.hpp"
#include "core/locality/estimators/shards.hpp"
#include "core/locality/estimators/shards_rate.hpp"

namespace mcsim {

// The one list of estimators. The registry, Python, the command line and the
// conformance tests follow from it.
using AllEstimators = TypeList<ExactEstimator, Shards, ShardsRate>;

}  // namespace mcsim
