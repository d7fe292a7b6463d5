#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/types.hpp"
#include "core/containers/max_tracker.hpp"

// How the space of a tier is divided among parts.
namespace mcsim {

// How the targets of parts are enforced.
enum class ResizeMode : std::uint8_t {
  kEager,      // a part never holds more than its target: it shrinks at once
  kLazy,       // targets matter only when the whole tier is full
  kStrictOwn,  // a part at its target evicts its own blocks, but only when it inserts
};

template <>
struct Choices<ResizeMode> {
  static constexpr std::array names{std::pair{"eager", ResizeMode::kEager},
                                    std::pair{"lazy", ResizeMode::kLazy},
                                    std::pair{"strict-own", ResizeMode::kStrictOwn}};
};

// The donor of a block when a whole tier is full.
enum class VictimRule : std::uint8_t {
  kMostOver,   // the part furthest above its target; the lower id on a tie
  kFirstOver,  // the first part above its target
};

template <>
struct Choices<VictimRule> {
  static constexpr std::array names{std::pair{"most-over", VictimRule::kMostOver},
                                    std::pair{"first-over", VictimRule::kFirstOver}};
};

struct DivisionRules {
  ResizeMode mode = ResizeMode::kLazy;
  VictimRule victim = VictimRule::kMostOver;
};

// The blocks of a part in excess of its target; negative if it is below the target. Limited for
// MaxTracker: there are fewer than 2^32 blocks, so a larger deficit makes no difference.
inline Count excess(Count held, Count target) {
  return std::max(held - target, -MaxTracker::kLimit);
}

}  // namespace mcsim
