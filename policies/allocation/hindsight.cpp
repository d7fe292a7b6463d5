#include "policies/allocation/hindsight.hpp"

#include "core/locality/distances/exact_distances.hpp"

namespace mcsim {

std::vector<RunningCurve> Hindsight::read_curves(const Accesses& trace) {
  struct OfVm {
    DenseDistances distances;
    std::vector<std::uint32_t> counts;  // by distance
    Count reads = 0;
  };
  std::vector<OfVm> vms;
  for (const VmInfo& vm : trace.vms) {
    const auto blocks = static_cast<std::size_t>(vm.unique_blocks);
    vms.push_back(
        {.distances = DenseDistances(blocks), .counts = std::vector<std::uint32_t>(blocks)});
  }
  std::vector<std::uint32_t> blocks;
  std::vector<Count> distances;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    const VmId v = trace.request_vm[r];
    blocks.clear();
    for (const BlockId id : trace.blocks_of(r)) blocks.push_back(id - trace.vms[v].first_id);
    distances.resize(blocks.size());
    vms[v].distances.process(blocks, distances);
    if (r < trace.warm_up || static_cast<Op>(trace.request_op[r]) != Op::kRead) continue;
    vms[v].reads += static_cast<Count>(blocks.size());
    for (const Count distance : distances) {
      if (distance != kCold) ++vms[v].counts[static_cast<std::size_t>(distance)];
    }
  }
  std::vector<RunningCurve> curves(vms.size());
  for (std::size_t v = 0; v < vms.size(); ++v) {
    std::vector<DistanceCount> counts;
    for (std::size_t distance = 0; distance < vms[v].counts.size(); ++distance) {
      if (vms[v].counts[distance] == 0) continue;
      counts.push_back({static_cast<std::uint32_t>(distance), vms[v].counts[distance]});
    }
    curves[v].add(counts);
    curves[v].set_accesses(vms[v].reads);
  }
  return curves;
}

}  // namespace mcsim
