#pragma once

#include <array>
#include <cstddef>

#include "core/base/types.hpp"

namespace mcsim {

inline constexpr std::size_t kMaxTiers = 8;

// Blocks and requests served by each tier and by the backend (the last entry in use). Data served
// by a staging area is not included, and neither are delayed hits. A read is served by the fastest
// holder of the block, a write by the device that the VM waited for. A request is served by the
// slowest device that any of its blocks waited for.
struct Served {
  std::array<Count, kMaxTiers + 1> blocks{};
  std::array<Count, kMaxTiers + 1> requests{};

  friend bool operator==(const Served&, const Served&) = default;
};

}  // namespace mcsim
