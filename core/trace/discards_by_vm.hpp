#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/trace/accesses.hpp"

namespace mcsim {

// Returns the discards of each VM, in order.
inline std::vector<std::vector<Discard>> discards_by_vm(const Accesses& trace) {
  std::vector<std::vector<Discard>> by_vm(trace.vms.size());
  for (const Discard& discard : trace.discards) {
    const auto behind = std::ranges::upper_bound(trace.vms, discard.block, {}, &VmInfo::first_id);
    by_vm[static_cast<std::size_t>(behind - trace.vms.begin() - 1)].push_back(discard);
  }
  return by_vm;
}

}  // namespace mcsim
