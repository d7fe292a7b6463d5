#pragma once

#include <span>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/model/allocation.hpp"
#include "core/engine/model/machine.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Return one number per VM in trace order, from a parameter that maps VM names to numbers. VMs that
// are not named get `otherwise`. Unknown names and numbers below 0 are errors; `kind` describes the
// number in the message.
absl::StatusOr<std::vector<double>> per_vm(const char* parameter, const PerVm& given,
                                           std::span<const VmInfo> vms, double otherwise,
                                           const char* kind = "a weight");

// Divide `blocks` in proportion to `weights` (equally if all are 0), into whole blocks with the
// exact sum: floors first, then one block each to the largest remainders, the lower index on a tie.
std::vector<Count> proportional(Count blocks, std::span<const double> weights);

// Add `left` blocks to the targets of the active VMs in proportion to their targets, or equally if
// all of these are 0. Without active VMs nothing is added.
void spread(Count left, const std::vector<bool>& active, std::span<Count> targets);

// Return the smallest size with the same value to the VM as its chosen size, within its bounds and
// above its size in faster tiers. The difference is free space: optimisers fill a tier to the last
// unit even if that adds no value.
std::size_t useful_choice(const AllocationProblem& problem, const Solution& solution,
                          std::size_t vm, std::size_t tier);

// Return the VMs on each host.
std::vector<std::vector<std::size_t>> by_host(const Machine& machine,
                                              std::span<const std::size_t> host_of);

// Divide every tier in proportion to `weights`.
Allocation proportional(const Machine& machine, std::span<const double> weights);

// Spread the blocks of each VM over the tiers. All tiers are equally full, and each VM has the same
// share of its blocks in each tier, up to rounding to blocks.
Allocation over_tiers(const Machine& machine, std::span<const Count> blocks);
// Spread the blocks of the VMs of each host over the tiers of that host.
Allocation over_tiers(const Machine& machine, std::span<const Count> blocks,
                      std::span<const std::size_t> host_of);
// Return the blocks of a VM in all tiers together.
Count in_all_tiers(const Allocation& targets, std::size_t vm);

}  // namespace mcsim
