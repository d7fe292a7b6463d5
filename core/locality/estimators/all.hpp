#pragma once

#include "core/base/registry.hpp"
#include "core/locality/estimators/aet.hpp"
#include "core/locality/estimators/counter_stacks.hpp"
#include "core/locality/estimators/exact.hpp"
#include "core/locality/estimators/mimir.hpp"
#include "core/locality/estimators/parda.hpp"
#include "core/locality/estimators/shards.hpp"
#include "core/locality/estimators/shards_rate.hpp"
#include "core/locality/estimators/statstack.hpp"
#include "core/locality/estimators/urd.hpp"

namespace mcsim {

// The one list of estimators. The registry, Python, the command line and the
// conformance tests follow from it.
using AllEstimators =
    TypeList<ExactEstimator, PardaEstimator, CounterStacksEstimator, MimirEstimator, AetEstimator,
             StatStackEstimator, UrdEstimator, Shards, ShardsRate>;

}  // namespace mcsim
