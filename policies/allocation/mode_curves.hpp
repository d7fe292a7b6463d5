#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/model/write_modes.hpp"
#include "core/engine/run/system.hpp"
#include "core/locality/profile/running_curve.hpp"
#include "core/trace/accesses.hpp"
#include "policies/hosts/data_path.hpp"

// Curves of VMs under their write modes. Writes through and back come into the cache, as the
// accesses of a curve do. The curve of a VM whose writes go around all tiers counts the hits of
// reads in a cache from which writes drop their blocks.
namespace mcsim {

// Append the same curves of VMs that write around, if the data path's `writes` names around; their
// names end in " around". If writes around update copies, only curves of reads have one.
std::vector<Meter> with_curves_around(std::vector<Meter> meters, const DataPathParams& path,
                                      std::size_t tiers);

// Return by VM whether no tier takes its writes.
std::vector<bool> writes_around(const ModesByTier& modes, std::size_t vms);
absl::StatusOr<std::vector<bool>> writes_around(const DataPathParams& path, std::size_t tiers,
                                                std::span<const VmInfo> vms);

// The curves of the meters of with_curves_around(), by the mode of each VM.
class ModeCurves {
 public:
  // Read the modes of the VMs.
  absl::Status set_modes(const DataPathParams& path, std::size_t tiers,
                         std::span<const VmInfo> vms);

  // Select the curve of each VM; none if the system declares no such meter. Ratios are of all
  // accesses of the VM. The result is valid until the next call, at most as long as `seen`.
  std::span<const RunningCurve> select(const Observation& seen, std::string_view name = "curve");

 private:
  std::vector<bool> around_;  // by VM
  std::vector<RunningCurve> mixed_;
};

}  // namespace mcsim
