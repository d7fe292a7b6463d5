#pragma once

#include <memory>

#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/model/machine.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The two-tier Global LRU baseline in the Multi-Cache authors' public code. When tier 1 overflows,
// the code writes the block *being accessed* into tier 2 instead of the victim. Victims are lost,
// tier 2 holds copies in insertion order, and a block may be in both tiers. Tier 2 is looked up
// first.
//
//   hit in 2   leaves tier 2; is appended to tier 1 unless already there
//   hit in 1   moves to the most recent end
//   miss       is appended to tier 1
//   overflow   of tier 1 drops its oldest and appends the accessed block to
//              tier 2, which drops its own oldest if it overflows
//
// The copy into tier 2 counts as a fill.
absl::StatusOr<std::unique_ptr<Host>> make_legacy_global_lru(const Machine& machine,
                                                             const Accesses& trace);

}  // namespace mcsim
