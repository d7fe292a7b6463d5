#pragma once

#include <memory>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/engine/hosts/machine.hpp"
#include "core/engine/tiers/division.hpp"
#include "core/engine/tiers/write_modes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Numbers of tiers that the stack engine is compiled for; TieredHost serves more.
inline constexpr std::size_t kMostLruTiers = 3;

// A host whose tiers form exclusive LRU stacks: a hit moves the block to the top of the fastest
// tier, and each tier pushes its least recently used blocks down into the next. The tiers of one VM
// laid end to end are its LRU stack, so with fixed parts tier-1 hits are those of LRU(c1) and all
// hits those of LRU(c1 + c2 + …), access by access.
//
// A tier without room for a block is bypassed: the block comes into the next tier that has room,
// with no fill and no write in the tiers above, or stays in the tier that holds it. If no tier has
// room, the access goes to the backend alone. A tier has room for a VM with a target (eager), or if
// it is not full, the VM holds blocks of it, or another VM has to give one (lazy).
//
// A VM may write in any mode, and its new blocks may be kept out (VmAdmission); both may change at
// any time. A write around drops the block: an invalidation and a miss, as the backend serves it
// (TieredHost serves WriteRules::update_around).
//
// The first form shares all tiers among all VMs; the second divides them, first by `targets`, with
// eager or lazy resizing.
absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine, const Accesses& trace,
                                                      WriteRules writes = {});
absl::StatusOr<std::unique_ptr<Host>> make_divided_lru(const Machine& machine,
                                                       const Accesses& trace,
                                                       const Allocation& targets,
                                                       DivisionRules rules, WriteRules writes = {});

}  // namespace mcsim
