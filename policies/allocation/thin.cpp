#include "policies/allocation/thin.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/share.hpp"
#include "policies/allocation/dividing.hpp"

namespace mcsim {

absl::StatusOr<std::unique_ptr<System>> ThinProvisioning::make(Params params,
                                                               SystemContext context) {
  if (params.quantum >= 0.5) {
    return invalid_argument(
        "quantum: {}: must be below 0.5, since a VM gives only while twice the quantum is unused",
        params.quantum);
  }
  return make_checked<ThinProvisioning>(std::move(params), std::move(context));
}

absl::Status ThinProvisioning::begin(const Accesses& trace, std::vector<Count>& blocks) {
  for_vms_ = capacity() - floor_share(params_.hypervisor, capacity());
  blocks = proportional(for_vms_, std::vector<double>(trace.vms.size(), 1.0));
  states_.clear();
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    const Count quantum = floor_share(params_.quantum, blocks[vm]);
    states_.push_back({.vm = trace.vms[vm].name, .quantum = std::max<Count>(quantum, 1)});
  }
  return thresholds_.begin(trace.vms);
}

std::string ThinProvisioning::divide(const Observation& seen, std::vector<Count>& blocks) {
  std::vector<Now> now;
  std::vector<std::size_t> borrowers;
  std::vector<std::size_t> donors;
  std::string wrong;
  for (std::size_t vm = 0; vm < blocks.size(); ++vm) {
    now.push_back(seen.departed[vm] ? Now{} : judge(seen, vm, blocks[vm]));
    if (now[vm].borrows) borrowers.push_back(vm);
    if (now[vm].gives) donors.push_back(vm);
    if (!now[vm].evicts_wrong) continue;
    wrong += (wrong.empty() ? "replacement policy problem: " : ", ") + states_[vm].vm;
  }
  note(std::move(wrong));
  // Free space: of departed VMs, and given to the pool before a VM needed it.
  Count pool = for_vms_ - std::accumulate(blocks.begin(), blocks.end(), Count{0});
  if (params_.eager_pool) {
    for (const std::size_t vm : donors) {
      blocks[vm] -= states_[vm].quantum;
      pool += states_[vm].quantum;
    }
    donors.clear();
  }
  std::ranges::stable_sort(borrowers, std::ranges::greater(),
                           [&](std::size_t vm) { return now[vm].over; });
  std::ranges::stable_sort(donors, std::ranges::greater(), [&](std::size_t vm) {
    return std::pair(states_[vm].quantum, now[vm].unused);
  });
  auto donor = donors.begin();
  for (const std::size_t vm : borrowers) {
    Count lent = std::min(pool, states_[vm].quantum);
    pool -= lent;
    if (lent == 0 && donor != donors.end()) {
      lent = states_[*donor].quantum;
      blocks[*donor] -= lent;
      ++donor;
    }
    blocks[vm] += lent;
  }
  return {};
}

ThinProvisioning::Now ThinProvisioning::judge(const Observation& seen, std::size_t vm,
                                              Count blocks) {
  State& state = states_[vm];
  const VmCounters& counts = seen.since[vm];
  const auto requests = static_cast<double>(seen.meter("load").loads[vm].requests);
  auto misses = static_cast<double>(counts.misses);
  if (params_.misses == MissMetric::kRatio) {
    misses /= static_cast<double>(std::max<Count>(counts.accesses, 1));
  }
  if (requests > 0) thresholds_.add(vm, {requests, misses});
  const Window before = std::exchange(state.last, {});
  const auto enough = thresholds_.of(vm);
  if (!enough) return {};
  const Count used = seen.probe[vm].touched;
  const Count unused = std::max<Count>(blocks - used, 0);
  const Window window{.busy = requests > enough->requests && misses > enough->misses,
                      .idle = requests < enough->requests && misses < enough->misses,
                      .used = params_.borrow_when == BorrowWhen::kUsed ? used > state.quantum
                                                                       : unused < state.quantum,
                      .unused = unused > 2 * state.quantum};
  state.last = window;
  const bool busy_before = params_.twice == Twice::kUse || before.busy;
  const bool gave_before = params_.donor_windows == 1 || (before.idle && before.unused);
  return {.borrows = window.busy && window.used && busy_before && before.used,
          .gives = window.idle && window.unused && gave_before,
          .evicts_wrong = requests < enough->requests && misses > enough->misses,
          .over = enough->misses > 0 ? misses / enough->misses : std::numeric_limits<double>::max(),
          .unused = unused};
}

}  // namespace mcsim
