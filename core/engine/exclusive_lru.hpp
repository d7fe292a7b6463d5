#pragma once

#include <array>
#include <memory>

#include "core/base/params.hpp"
#include "core/base/status.hpp"
#include "core/engine/host.hpp"
#include "core/engine/machine.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// How a partitioned host keeps VMs to their targets.
enum class ResizeMode : std::uint8_t {
  kEager,      // a partition never holds more than its target: it shrinks at once
  kLazy,       // targets matter only when the whole tier is full
  kStrictOwn,  // a VM at its target evicts from itself, but only when it inserts
};

template <>
struct Choices<ResizeMode> {
  static constexpr std::array names{std::pair{"eager", ResizeMode::kEager},
                                    std::pair{"lazy", ResizeMode::kLazy},
                                    std::pair{"strict-own", ResizeMode::kStrictOwn}};
};

// Which VM gives a block when a whole tier is full.
enum class VictimRule : std::uint8_t {
  kMostOver,   // the one furthest over its target, the lower id on a tie
  kFirstOver,  // the first that is over its target
};

template <>
struct Choices<VictimRule> {
  static constexpr std::array names{std::pair{"most-over", VictimRule::kMostOver},
                                    std::pair{"first-over", VictimRule::kFirstOver}};
};

struct PartitionRules {
  ResizeMode mode = ResizeMode::kLazy;
  VictimRule victim = VictimRule::kMostOver;
};

inline constexpr std::size_t kMaxTiers = 8;

// A host whose tiers form exclusive LRU stacks: a hit moves the
// block to the top of the fastest tier, and each tier pushes its least recently
// used blocks down into the next. One VM's tiers laid end to end are its LRU
// stack, so with fixed partitions tier-1 hits are those of LRU(c1) and all hits
// those of LRU(c1 + c2 + …), access by access.
//
// The first form shares all tiers among all VMs; the second divides them, first
// by `targets`.
absl::StatusOr<std::unique_ptr<Host>> make_shared_lru(const Machine& machine,
                                                      const Accesses& trace);
absl::StatusOr<std::unique_ptr<Host>> make_partitioned_lru(const Machine& machine,
                                                           const Accesses& trace,
                                                           const Allocation& targets,
                                                           PartitionRules rules);

}  // namespace mcsim
