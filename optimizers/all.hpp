#pragma once

#include "core/base/registry.hpp"
#include "optimizers/annealing.hpp"
#include "optimizers/equal.hpp"
#include "optimizers/exact.hpp"
#include "optimizers/greedy.hpp"
#include "optimizers/lookahead.hpp"

namespace mcsim {

// The one list of optimisers. The registry, Python, the command line and the
// conformance tests follow from it.
using AllOptimizers = TypeList<Exact, Greedy, Lookahead, Annealing, Equal>;

}  // namespace mcsim
