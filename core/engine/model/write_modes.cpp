#include "core/engine/model/write_modes.hpp"

namespace mcsim {
namespace {

// The order of modes in an inclusive chain, from its fastest tier on: around, through, back.
int when_inclusive(WriteMode mode) {
  return mode == WriteMode::kAround ? 0 : mode == WriteMode::kThrough ? 1 : 2;
}

}  // namespace

absl::Status check_chain_writes(Chain chain, const ModesByTier& modes, bool stages_data) {
  for (std::size_t k = 1; k < modes.size(); ++k) {
    for (std::size_t vm = 0; vm < modes[k].size(); ++vm) {
      const WriteMode above = modes[k - 1][vm];
      const WriteMode here = modes[k][vm];
      if (stages_data && here != above) {
        return invalid_argument(
            "with staged data a VM needs one write mode in all tiers, not {} in one and {} in "
            "another",
            name_of(above), name_of(here));
      }
      if (chain == Chain::kExclusive && here != above) {
        return invalid_argument(
            "an exclusive chain has one copy of a block, which cannot be written {} in one tier "
            "and {} in another; victim, inclusive and independent chains have several",
            name_of(above), name_of(here));
      }
      if (chain == Chain::kInclusive && when_inclusive(here) < when_inclusive(above)) {
        return invalid_argument(
            "in an inclusive chain a tier has what faster ones have: it cannot be written {} below "
            "one that is written {}; the order is around, through, back",
            name_of(here), name_of(above));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace mcsim
