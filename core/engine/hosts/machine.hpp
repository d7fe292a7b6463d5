#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A device as the latency and cost models see it.
struct Device {
  std::string name;
  double read_ns = 0;
  double write_ns = 0;
  double dollars_per_gb = 0;
  // What it can do in a second, operations of any size and bytes; 0: nobody says.
  double iops = 0;
  double bandwidth = 0;

  // How long an operation of that size keeps it busy: as long as a read takes unless it is said
  // how many it can do, and no shorter than its bytes take.
  double busy_ns(double bytes) const {
    const double operation = iops > 0 ? 1e9 / iops : read_ns;
    return bandwidth > 0 ? std::max(operation, bytes * 1e9 / bandwidth) : operation;
  }
};

struct TierSpec {
  Device device;
  Count capacity_blocks = 0;
};

// What hosts send each other blocks over.
struct Link {
  double latency_ns = 0;         // of a read over it, besides what reads the block
  double blocks_per_second = 0;  // that it takes at most
};

// Hosts that are alike, and who is on which when the trace begins.
struct Fleet {
  std::vector<std::string> hosts = {};  // names; fewer than two: there is one host
  std::map<std::string, std::size_t> host_of_vm = {};
  Link link = {};

  bool several() const { return hosts.size() > 1; }
  std::size_t count() const { return several() ? hosts.size() : 1; }
  // The first, of a VM that is not named.
  std::size_t host_of(const std::string& vm) const {
    const auto found = host_of_vm.find(vm);
    return found == host_of_vm.end() ? 0 : found->second;
  }
};

// The host a system runs on: tiers from fastest to slowest, then the backend
// that has everything. Of several hosts each has these tiers, and they share the backend.
struct Machine {
  std::vector<TierSpec> tiers;
  Device backend;
  // Time to read or write one block of VMs whose storage is another, by name.
  std::map<std::string, double> vm_backend_ns = {};
  Fleet fleet = {};

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
};

}  // namespace mcsim
