#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.hpp"
#include "core/engine/model/machine.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/interning/access_builder.hpp"

namespace mcsim::testing {

// The requests of vm0, vm1 and so on, interned; of none if they cannot be.
inline Accesses interned(const std::vector<Requests>& of_vms,
                         const ExpandOptions& options = {
                             .ops = OpFilter::kAll, .bytes = true, .addresses = true}) {
  AccessBuilder builder(options, TimeBase::kClock);
  for (std::size_t vm = 0; vm < of_vms.size(); ++vm) {
    if (!builder.begin_vm("vm" + std::to_string(vm)).ok()) return {};
    if (!builder.add(of_vms[vm].view()).ok()) return {};
  }
  return std::move(builder).finish().value();
}

// An interned trace of single-block reads, one a nanosecond: `vm[i]` touches its
// own block number `block[i]`.
inline Accesses trace_of(const std::vector<VmId>& vm, const std::vector<std::uint64_t>& block,
                         Nanoseconds step = 1) {
  std::vector<Requests> of_vms(1);
  for (std::size_t i = 0; i < vm.size(); ++i) {
    if (vm[i] >= of_vms.size()) of_vms.resize(vm[i] + std::size_t{1});
    of_vms[vm[i]].push(static_cast<Nanoseconds>(i) * step, vm[i], Op::kRead, block[i] * 4096, 4096);
  }
  return interned(of_vms, {.addresses = true});
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

// The same requests, of which a share are writes.
inline Accesses with_writes(Accesses trace, std::uint64_t seed, double share = 0.4) {
  Random random(seed);
  std::vector<std::uint8_t> ops(trace.request_count());
  for (std::uint8_t& op : ops) op = random.uniform() < share ? 1 : 0;
  trace.request_op = std::move(ops);
  return trace;
}

// Reads and writes of VMs that each ask so many times to warm up, and as many times after that.
inline Accesses with_warm_up(std::size_t vms, Nanoseconds each, std::uint64_t seed) {
  AccessBuilder builder({.ops = OpFilter::kAll}, TimeBase::kClock);
  Random random(seed);
  for (std::size_t vm = 0; vm < vms; ++vm) {
    if (!builder.begin_vm("vm" + std::to_string(vm)).ok()) return {};
    for (const Nanoseconds begin : {Nanoseconds{0}, each}) {
      Requests requests;
      for (Nanoseconds i = 0; i < each; ++i) {
        const Op op = random.below(3) == 0 ? Op::kWrite : Op::kRead;
        requests.push(begin + i, 0, op, 4096 * random.below(random.below(2) == 0 ? 15 : 90), 4096);
      }
      if (!builder.add(requests.view()).ok()) return {};
      if (begin == 0) builder.end_warm_up();
    }
  }
  return std::move(builder).finish().value();
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

// A machine that is small for random traces. bcache refuses less than 513 buckets of 512 KiB, and
// Open CAS less than 40 MiB.
inline Machine small_machine_for(std::string_view system) {
  const bool is_large = system == "bcache" || system == "open-cas" || system == "zfs-arc";
  return is_large ? machine_of({30'000, 40'000}) : machine_of({30, 90});
}

}  // namespace mcsim::testing
