#pragma once

#include <vector>

#include "core/engine/model/machine.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim::bench {

// Zipf(0.9) over `blocks` ids in shuffled order, dealt to `vms` VMs with equal
// universes: the shape of the peers' common trace. A share of the requests are writes.
Accesses zipf_trace(std::size_t accesses, std::size_t blocks, std::size_t vms, double writes = 0);

Machine machine_of(const std::vector<Count>& capacities);

}  // namespace mcsim::bench
