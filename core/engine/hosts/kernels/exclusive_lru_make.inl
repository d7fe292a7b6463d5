// Makes an ExclusiveLru; for the source files of each number of tiers.
#pragma once

#include <memory>
#include <vector>

#include "core/engine/hosts/kernels/exclusive_lru.inl"

namespace mcsim {

// The most blocks that each stack can hold.
inline std::vector<std::uint64_t> most_blocks(const Machine& machine, const Accesses& trace,
                                              Sharing sharing) {
  std::uint64_t room = 1;
  for (const TierSpec& tier : machine.tiers)
    room += static_cast<std::uint64_t>(tier.capacity_blocks);
  if (sharing == Sharing::kShared) return {std::min<std::uint64_t>(room, trace.id_count())};
  std::vector<std::uint64_t> most;
  for (const VmInfo& vm : trace.vms) {
    most.push_back(std::min(room, static_cast<std::uint64_t>(vm.unique_blocks)));
  }
  return most;
}

template <int kTiers>
absl::StatusOr<std::unique_ptr<Host>> make_exclusive_lru(const Machine& machine,
                                                         const Accesses& trace, Sharing sharing,
                                                         DivisionRules rules,
                                                         const Allocation& targets,
                                                         WriteRules writes) {
  const std::vector<std::uint64_t> most = most_blocks(machine, trace, sharing);
  const std::uint64_t entries = RecencyLog<kTiers>::entries(most);
  if (entries >= kNoBlock) {
    return absl::ResourceExhaustedError(fmt::format(
        "the stacks need {} log entries, more than 2^32: use a larger block size", entries));
  }
  auto host = std::make_unique<ExclusiveLru<kTiers>>(
      machine, trace, sharing, rules, std::move(writes), RecencyLog<kTiers>::stacks(most));
  if (sharing != Sharing::kShared) MCSIM_RETURN_IF_ERROR(host->resize(targets));
  return host;
}

}  // namespace mcsim
