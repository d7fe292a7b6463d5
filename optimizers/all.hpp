#pragma once

#include "core/base/registry.hpp"
#include "optimizers/annealing.hpp"
#include "optimizers/annealing_legacy.hpp"
#include "optimizers/equal.hpp"
#include "optimizers/exact.hpp"
#include "optimizers/greedy.hpp"
#include "optimizers/ilp.hpp"
#include "optimizers/lagrangian.hpp"
#include "optimizers/lookahead.hpp"

namespace mcsim {

// All optimisers. The registry, Python, the command line and the conformance tests use this list.
using AllOptimizers =
    TypeList<Exact, Ilp, Lagrangian, Greedy, Lookahead, Annealing, AnnealingLegacy, Equal>;

}  // namespace mcsim
