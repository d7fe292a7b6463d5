#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/types.hpp"

// How the space of a tier is divided, and kept so.
namespace mcsim {

// How parts are kept to their targets.
enum class ResizeMode : std::uint8_t {
  kEager,      // a part never holds more than its target: it shrinks at once
  kLazy,       // targets matter only when the whole tier is full
  kStrictOwn,  // a part at its target evicts from itself, but only when it inserts
};

template <>
struct Choices<ResizeMode> {
  static constexpr std::array names{std::pair{"eager", ResizeMode::kEager},
                                    std::pair{"lazy", ResizeMode::kLazy},
                                    std::pair{"strict-own", ResizeMode::kStrictOwn}};
};

// Which part gives a block when a whole tier is full.
enum class VictimRule : std::uint8_t {
  kMostOver,   // the one furthest over its target, the lower id on a tie
  kFirstOver,  // the first that is over its target
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

// What a part holds beyond its target, less than none if it wants more: an amount for Greatest.
// What a part wants beyond 2^31 blocks it would have to get before that mattered.
inline Count beyond(Count held, Count target) { return std::max(held - target, -(Count{1} << 31)); }

}  // namespace mcsim
