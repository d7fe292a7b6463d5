#pragma once

#include <cstdint>
#include <span>

#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Returns the accesses of one VM alone, with its discards and its departure. All VMs keep their
// names, and the others have no blocks. `requests` are all requests of the VM, in order.
absl::StatusOr<Accesses> vm_accesses(const Accesses& trace, VmId vm,
                                     std::span<const std::int64_t> requests);

}  // namespace mcsim
