#include "policies/allocation/cachecow.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/base/share.hpp"
#include "policies/allocation/dividing.hpp"
#include "policies/allocation/latency.hpp"

namespace mcsim {

absl::Status CacheCow::begin(const Accesses& trace, std::vector<Count>&) {
  vms_ = trace.vms;
  constexpr double kNothing = std::numeric_limits<double>::infinity();
  MCSIM_ASSIGN_OR_RETURN(
      promised_ns_, per_vm("latency_ms", params_.latency_ms, trace.vms, kNothing, "a latency"));
  for (std::size_t vm = 0; vm < vms_.size(); ++vm) {
    if (promised_ns_[vm] == 0) {
      return out_of_range("latency_ms: {}: must be above 0 ms; leave the VM out to set no target",
                          vms_[vm].name);
    }
    promised_ns_[vm] *= 1e6;
  }
  return absl::OkStatus();
}

std::string CacheCow::divide(const Observation& seen, std::vector<Count>& blocks) {
  share_free(seen, blocks);
  const Count length = floor_share(params_.ghost, capacity());
  std::vector<bool> present = seen.departed;
  present.flip();
  std::vector<Now> now;
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    const RunningCurve& curve = curves()[vm];
    const Count hits = curve.hits(blocks[vm]);
    const double waits = mean_ns(seen.since[vm], machine(), vms_[vm].name);
    now.push_back({.waits = present[vm] ? waits / promised_ns_[vm] : 0,
                   .ghost = curve.hits(blocks[vm] + length) - hits,
                   .tail = hits - curve.hits(std::max<Count>(blocks[vm] - length, 0))});
  }
  if (std::ranges::any_of(now, &Now::waits_too_long)) return help_late(now, present, blocks);
  gain_hits(now, present, blocks);
  return too_small(seen);
}

// Serve late VMs in descending order of latency / target. The donor is the VM with the lowest
// ratio; ties go to the VM with fewer hits in its tail.
std::string CacheCow::help_late(const std::vector<Now>& now, std::vector<bool> gives,
                                std::vector<Count>& blocks) const {
  std::vector<std::size_t> late;
  for (std::size_t vm = 0; vm < now.size(); ++vm) {
    if (now[vm].waits_too_long()) late.push_back(vm);
    gives[vm] = gives[vm] && !now[vm].waits_too_long() && spare(blocks[vm]) > 0;
  }
  std::ranges::stable_sort(late, std::ranges::greater(),
                           [&](std::size_t vm) { return now[vm].waits; });
  for (const std::size_t vm : late) {
    std::size_t from = now.size();
    const auto order = [&](std::size_t of) { return std::pair(now[of].waits, now[of].tail); };
    for (std::size_t other = 0; other < now.size(); ++other) {
      if (gives[other] && (from == now.size() || order(other) < order(from))) from = other;
    }
    if (from == now.size()) {
      return fmt::format("{} waits {:.6g} ms, its target is {:.6g} ms, and no VM can give a chunk",
                         vms_[vm].name, now[vm].waits * promised_ns_[vm] / 1e6,
                         promised_ns_[vm] / 1e6);
    }
    move(from, vm, blocks);
    gives[from] = false;
  }
  return {};
}

// Move a chunk to the VM with the most ghost hits from the other VM with the fewest tail hits, if
// the ghost hits are more.
void CacheCow::gain_hits(const std::vector<Now>& now, const std::vector<bool>& present,
                         std::vector<Count>& blocks) const {
  std::size_t to = now.size();
  for (std::size_t vm = 0; vm < now.size(); ++vm) {
    if (present[vm] && (to == now.size() || now[vm].ghost > now[to].ghost)) to = vm;
  }
  std::size_t from = now.size();
  for (std::size_t vm = 0; vm < now.size(); ++vm) {
    if (!present[vm] || vm == to || spare(blocks[vm]) == 0) continue;
    if (from == now.size() || now[vm].tail < now[from].tail) from = vm;
  }
  if (from < now.size() && now[to].ghost > now[from].tail) move(from, to, blocks);
}

}  // namespace mcsim
