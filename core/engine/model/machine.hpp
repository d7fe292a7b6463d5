#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// The parameters of a device for the latency and cost models.
struct Device {
  std::string name;
  double read_ns = 0;
  double write_ns = 0;
  double dollars_per_gb = 0;
  // Limits per second: operations of any size, and bytes; 0: unknown.
  double iops = 0;
  double bandwidth = 0;

  // The time for which an operation of that size occupies the device: 1 s / iops, or the time of a
  // read if iops is unknown. It is at least the time to transfer the bytes.
  double busy_ns(double bytes) const {
    const double operation = iops > 0 ? 1e9 / iops : read_ns;
    return bandwidth > 0 ? std::max(operation, bytes * 1e9 / bandwidth) : operation;
  }
};

struct TierSpec {
  Device device;
  Count capacity_blocks = 0;
  // Whether reads of a block that is still on its way into this tier wait for it (Fetches).
  bool delayed_hits = false;
};

// The link over which hosts send each other blocks.
struct Link {
  double latency_ns = 0;         // of a remote read, in addition to the device's
  double blocks_per_second = 0;  // maximum
};

// Identical hosts, and the host of each VM when the trace begins.
struct Fleet {
  std::vector<std::string> hosts = {};  // names; fewer than two: a single host
  std::map<std::string, std::size_t> host_of_vm = {};
  Link link = {};

  bool several() const { return hosts.size() > 1; }
  std::size_t count() const { return several() ? hosts.size() : 1; }
  // The index of the VM's host; 0 if it is not listed.
  std::size_t host_of(const std::string& vm) const {
    const auto found = host_of_vm.find(vm);
    return found == host_of_vm.end() ? 0 : found->second;
  }
};

// The host of a system: tiers from fastest to slowest, then the backend, which has all blocks. With
// several hosts, each has these tiers, and they share the backend.
struct Machine {
  std::vector<TierSpec> tiers;
  Device backend;
  // By VM name: time to read or write one block, for VMs with a backend of their own.
  std::map<std::string, double> vm_backend_ns = {};
  Fleet fleet = {};
  // Capacities are in bytes, which objects take by their sizes (WeighedHost).
  bool in_bytes = false;

  // Time to read one block that no tier has.
  double backend_read_ns(const std::string& vm) const {
    const auto own = vm_backend_ns.find(vm);
    return own == vm_backend_ns.end() ? backend.read_ns : own->second;
  }
  double backend_write_ns(const std::string& vm) const {
    const auto own = vm_backend_ns.find(vm);
    return own == vm_backend_ns.end() ? backend.write_ns : own->second;
  }
  std::size_t tier_count() const { return tiers.size(); }
  bool has_delayed_hits() const { return std::ranges::any_of(tiers, &TierSpec::delayed_hits); }
};

}  // namespace mcsim
