#pragma once

#include <vector>

#include "core/engine/policy/next_use.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Return the discards of a trace, each with the access before which it comes.
inline std::vector<DiscardedBlock> discards_by_access(const Accesses& trace) {
  std::vector<DiscardedBlock> discards;
  discards.reserve(trace.discards.size());
  for (const auto& [request, block] : trace.discards) {
    discards.push_back({trace.request_begin[request], block});
  }
  return discards;
}

}  // namespace mcsim
