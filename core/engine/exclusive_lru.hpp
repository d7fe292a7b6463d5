#pragma once

#include <memory>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/division.hpp"
#include "core/engine/host.hpp"
#include "core/engine/machine.hpp"
#include "core/engine/writes.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// A host whose tiers form exclusive LRU stacks: a hit moves the
// block to the top of the fastest tier, and each tier pushes its least recently
// used blocks down into the next. One VM's tiers laid end to end are its LRU
// stack, so with fixed parts tier-1 hits are those of LRU(c1) and all hits
// those of LRU(c1 + c2 + …), access by access.
//
// A block comes in first and all settles then: what comes into a tier without room for it,
// be it of no blocks at all, is written there and goes down at once.
//
// A VM may write in any mode, and be shut out (Gate), both of which may change at any time; blocks
// that are held are never updated where they are when they are written around
// (WriteRules::update_around).
//
// The first form shares all tiers among all VMs; the second divides them, first
// by `targets`.
absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine, const Accesses& trace,
                                                      WriteRules writes = {});
absl::StatusOr<std::unique_ptr<Host>> make_divided_lru(const Machine& machine,
                                                       const Accesses& trace,
                                                       const Allocation& targets,
                                                       DivisionRules rules, WriteRules writes = {});

}  // namespace mcsim
