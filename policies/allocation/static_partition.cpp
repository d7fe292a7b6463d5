#include "policies/allocation/static_partition.hpp"

#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<Host>> StaticPartition::make_host(const Accesses& trace) {
  MCSIM_ASSIGN_OR_RETURN(const std::vector<double> weights,
                         per_vm("shares", params_.shares, trace.vms, 1.0));
  Division division =
      one_part_each(proportional(context_.machine, weights), {.mode = ResizeMode::kEager});
  division.changeable = false;
  return make_data_path(params_, context_.machine, trace, division, context_.seed);
}

}  // namespace mcsim
