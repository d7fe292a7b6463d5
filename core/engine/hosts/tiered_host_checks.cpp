#include "core/engine/hosts/tiered_host.hpp"

#include <bit>

namespace mcsim {

// Check each tier, the counts of held blocks, that copies are where the chain allows them, and that
// tiers hold all dirty blocks.
absl::Status TieredHost::check_invariants() const {
  for (const Tier& tier : tiers_) MCSIM_RETURN_IF_ERROR(tier.check());
  std::vector<Count> held(tiers_.size() * counters_.size(), 0);
  for (BlockId block = 0; block < blocks_; ++block) {
    const VmId vm = owners_.vm_of(block);
    unsigned where = 0;
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      const bool holds = tiers_[k].holds(part(vm), block);
      where |= static_cast<unsigned>(holds) << k;
      held[k * counters_.size() + vm] += holds ? 1 : 0;
      if (!one_copy() && dirty_.contains(block, k) && !holds) {
        return internal_error("block {} is dirty in tier {}, which does not hold it", block, k);
      }
      if (holds && dirty_.contains(block, k) && dirty_.mode(vm, k) != WriteMode::kBack) {
        return internal_error("block {} is dirty in tier {}, which does not write back", block, k);
      }
    }
    if (dirty_.contains(block) && where == 0) {
      return internal_error("block {} is dirty, and no tier holds it", block);
    }
    const unsigned all_below = ((1U << tiers_.size()) - 1) & ~((where & (0U - where)) - 1);
    if (one_copy() && std::popcount(where) > 1) {
      return internal_error("block {} is in several tiers of an exclusive chain", block);
    }
    if (chain_ == Chain::kInclusive && where != 0 && where != all_below) {
      return internal_error("block {} is not in all tiers below its fastest", block);
    }
  }
  for (std::size_t vm = 0; vm < counters_.size(); ++vm) {
    for (std::size_t k = 0; k < tiers_.size(); ++k) {
      const Count found = held[k * counters_.size() + vm];
      if (found == counters_[vm].tiers[k].occupancy) continue;
      return internal_error("VM {} holds {} blocks of tier {}, counted {}", vm, found, k,
                            counters_[vm].tiers[k].occupancy);
    }
  }
  return absl::OkStatus();
}

}  // namespace mcsim
