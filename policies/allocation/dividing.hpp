#pragma once

#include <span>
#include <vector>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/run/allocation.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// One number per VM in trace order, from a parameter that names VMs; a VM not
// named gets `otherwise`. A name that is not a VM is an error, and so is a number below 0, which
// is not what `kind` says.
absl::StatusOr<std::vector<double>> per_vm(const char* parameter, const PerVm& given,
                                           std::span<const VmInfo> vms, double otherwise,
                                           const char* kind = "a weight");

// Divides `blocks` in proportion to `weights` (equally if all are zero), in
// whole blocks that sum to `blocks` exactly: floors first, then one block each
// to the largest remainders, the lower index on a tie.
std::vector<Count> proportional(Count blocks, std::span<const double> weights);

// Adds `left` blocks to the targets of the VMs that are `active`, in proportion to
// what they have (equally if they have nothing; to nobody if nobody is active).
void spread(Count left, const std::vector<bool>& active, std::span<Count> targets);

// The smallest size that is worth as much to the VM as the one chosen for it, and
// that its bounds and the faster tiers allow. What lies between is free to be
// spread: optimisers fill a tier to the last unit, worth anything or not.
std::size_t useful_choice(const AllocationProblem& problem, const Solution& solution,
                          std::size_t vm, std::size_t tier);

// The VMs on each host.
std::vector<std::vector<std::size_t>> by_host(const Machine& machine,
                                              std::span<const std::size_t> host_of);

// Every tier divided in proportion to `weights`.
Allocation proportional(const Machine& machine, std::span<const double> weights);

// What each VM gets of one cache, of all tiers together, as blocks of every tier: all tiers are
// as full as each other, and each VM has the same share of its blocks in each, but for a block.
Allocation over_tiers(const Machine& machine, std::span<const Count> blocks);
// The same on each host, for the VMs that are on it.
Allocation over_tiers(const Machine& machine, std::span<const Count> blocks,
                      std::span<const std::size_t> host_of);
// The other way round.
Count in_all_tiers(const Allocation& targets, std::size_t vm);

}  // namespace mcsim
