#include "core/engine/model/counters.hpp"

namespace mcsim {
namespace {

void subtract(const Served& before, Served& served) {
  for (std::size_t k = 0; k <= kMaxTiers; ++k) {
    served.blocks[k] -= before.blocks[k];
    served.requests[k] -= before.requests[k];
  }
}

}  // namespace

VmCounters VmCounters::since(const VmCounters& before) const {
  VmCounters span = *this;
  for (const auto& [name, total] : kTotals) span.*total -= before.*total;
  subtract(before.reads_served, span.reads_served);
  subtract(before.writes_served, span.writes_served);
  for (std::size_t k = 0; k < tiers.size(); ++k) {
    for (const auto& [name, total] : TierCounters::kTotals) {
      span.tiers[k].*total -= before.tiers[k].*total;
    }
  }
  return span;
}

}  // namespace mcsim
