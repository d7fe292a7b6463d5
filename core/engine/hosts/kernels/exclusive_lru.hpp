#pragma once

#include <memory>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/model/division.hpp"
#include "core/engine/model/machine.hpp"
#include "core/engine/model/write_modes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// The largest number of tiers for which the stack engine is compiled; TieredHost serves more.
inline constexpr std::size_t kMostLruTiers = 3;

// A host with tiers that form exclusive LRU stacks: a hit moves the block to the top of the fastest
// tier, and each tier demotes its least recently used blocks to the next one. The tiers of one VM,
// one after the other, are its LRU stack. So with fixed parts, tier-1 hits are those of LRU(c1),
// and all hits are those of LRU(c1 + c2 + …), access by access.
//
// A tier without space for a block is bypassed: the block enters the next tier with space, with no
// fill and no write in the tiers above, or stays in the tier that holds it. If no tier has space,
// the access goes to the backend alone. In eager mode, a tier has space for a VM with a target. In
// lazy mode, it has space if it is not full, the VM holds blocks in it, or another VM is the donor.
//
// A VM may write in any mode, and its new blocks may be blocked (VmAdmission); both may change at
// any time. A write around drops the block: it counts as an invalidation and a miss, as the backend
// serves it (TieredHost serves WriteRules::update_around).
//
// make_shared_lru shares all tiers among all VMs; make_divided_lru divides them, initially by
// `targets`, with eager or lazy resizing.
absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine, const Accesses& trace,
                                                      WriteRules writes = {});
absl::StatusOr<std::unique_ptr<Host>> make_divided_lru(const Machine& machine,
                                                       const Accesses& trace,
                                                       const Allocation& targets,
                                                       DivisionRules rules, WriteRules writes = {});

}  // namespace mcsim
