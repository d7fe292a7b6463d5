#pragma once

#include <string>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/machine.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim::testing {

// An interned trace of single-block reads, one a nanosecond: `vm[i]` touches its
// own block number `block[i]`.
inline Accesses trace_of(const std::vector<VmId>& vm, const std::vector<std::uint64_t>& block,
                         Nanoseconds step = 1) {
  VmId vms = 1;
  for (const VmId v : vm) vms = std::max<VmId>(vms, static_cast<VmId>(v + 1));
  AccessBuilder builder({}, TimeBase::kClock);
  for (VmId v = 0; v < vms; ++v) {
    Requests requests;
    for (std::size_t i = 0; i < vm.size(); ++i) {
      if (vm[i] != v) continue;
      requests.push(static_cast<Nanoseconds>(i) * step, v, Op::kRead, block[i] * 4096, 4096);
    }
    if (!builder.begin_vm("vm" + std::to_string(v)).ok()) return {};
    if (!builder.add(requests.view()).ok()) return {};
  }
  return std::move(builder).finish().value();
}

inline Accesses single_vm(const std::vector<std::uint64_t>& block) {
  return trace_of(std::vector<VmId>(block.size(), 0), block);
}

// Skewed random accesses of several VMs: half of each VM's go to a tenth of its
// blocks.
inline Accesses random_trace(std::size_t accesses, VmId vms, std::uint64_t blocks,
                             std::uint64_t seed) {
  Random random(seed);
  std::vector<VmId> vm;
  std::vector<std::uint64_t> block;
  for (std::size_t i = 0; i < accesses; ++i) {
    vm.push_back(static_cast<VmId>(random.below(vms)));
    const std::uint64_t hot = std::max<std::uint64_t>(1, blocks / 10);
    block.push_back(random.below(random.below(2) == 0 ? hot : blocks));
  }
  return trace_of(vm, block);
}

// Tiers of the given capacities with Table I's latencies from the fastest on.
inline Machine machine_of(const std::vector<Count>& capacities) {
  Machine machine;
  double read_ns = 30;
  for (const Count blocks : capacities) {
    machine.tiers.push_back({{"tier", read_ns, read_ns, 1}, blocks});
    read_ns *= 25'000.0 / 30;
  }
  machine.backend = {"hdd", 6.5e6, 6.5e6, 0.075};
  return machine;
}

}  // namespace mcsim::testing
