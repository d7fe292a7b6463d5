#include "policies/allocation/hindsight.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"
#include "core/trace/discards_by_vm.hpp"

namespace mcsim {
namespace {

// The first request that is counted.
std::size_t first_counted(const Accesses& trace, Nanoseconds warm_up) {
  const auto times = std::span(trace.request_time).subspan(trace.warm_up);
  const auto first = std::ranges::partition_point(
      times, [&](Nanoseconds time) { return time - times.front() < warm_up; });
  return trace.warm_up + static_cast<std::size_t>(first - times.begin());
}

// Distances of one VM.
struct VmDistances {
  DenseDistances stack;
  std::vector<Count> counts;  // by distance
  Count accesses = 0;

  explicit VmDistances(std::size_t blocks) : stack(blocks), counts(blocks) {}

  RunningCurve curve() const {
    DistanceHistogram histogram;
    Count hits = 0;
    for (std::size_t distance = 0; distance < counts.size(); ++distance) {
      if (counts[distance] == 0) continue;
      histogram.distance.push_back(static_cast<Count>(distance));
      histogram.count.push_back(counts[distance]);
      hits += counts[distance];
    }
    histogram.cold = accesses - hits;
    return RunningCurve::of(HitCurve(std::move(histogram)));
  }
};

}  // namespace

std::vector<RunningCurve> Hindsight::count(const Accesses& trace) const {
  std::vector<VmDistances> vms;
  for (const VmInfo& vm : trace.vms) vms.emplace_back(static_cast<std::size_t>(vm.unique_blocks));
  const std::size_t first = first_counted(trace, context_.warm_up);
  const bool only_reads = params_.objective == HitWorth::kLatency;
  const std::vector<std::vector<Discard>> discards = discards_by_vm(trace);
  std::vector<std::size_t> discarded(vms.size());
  std::vector<std::uint32_t> blocks;
  std::vector<Count> distances;
  for (std::size_t r = 0; r < trace.request_count(); ++r) {
    const VmId v = trace.request_vm[r];
    const BlockId first_id = trace.vms[v].first_id;
    VmDistances& vm = vms[v];
    for (std::size_t& next = discarded[v];
         next < discards[v].size() && discards[v][next].request <= r; ++next) {
      vm.stack.discard(discards[v][next].block - first_id);
    }
    blocks.clear();
    for (const BlockId id : trace.blocks_of(r)) blocks.push_back(id - first_id);
    const bool is_read = static_cast<Op>(trace.request_op[r]) == Op::kRead;
    const bool is_counted = r >= first && (is_read || !only_reads);
    if (!is_read && around_[v]) {
      for (const std::uint32_t block : blocks) vm.stack.discard(block);
      if (is_counted) vm.accesses += static_cast<Count>(blocks.size());
      continue;
    }
    distances.resize(blocks.size());
    vm.stack.process(blocks, distances);
    if (!is_counted) continue;
    vm.accesses += static_cast<Count>(blocks.size());
    for (const Count distance : distances) {
      if (distance != kCold) ++vm.counts[static_cast<std::size_t>(distance)];
    }
  }
  std::vector<RunningCurve> curves;
  for (const VmDistances& vm : vms) curves.push_back(vm.curve());
  return curves;
}

}  // namespace mcsim
