#include "policies/allocation/static_partition.hpp"

#include "policies/allocation/shares.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> StaticPartition::make_host(const Accesses& trace) {
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> shares,
                         per_vm("shares", params_.shares, trace.vms, 1.0));
  return make_partitioned_lru(machine_, trace, proportional(machine_, shares),
                              {.mode = ResizeMode::kEager});
}

}  // namespace mcsim
