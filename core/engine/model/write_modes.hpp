#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/model/chain.hpp"

namespace mcsim {

enum class WriteMode : std::uint8_t {
  kThrough,  // into the cache and to the backend; the VM waits for the backend
  kBack,     // into the cache; to the backend on eviction or flush
  kAround,   // only to the backend; copies in the cache are dropped
};

template <>
struct Choices<WriteMode> {
  static constexpr std::array names{std::pair{"through", WriteMode::kThrough},
                                    std::pair{"back", WriteMode::kBack},
                                    std::pair{"around", WriteMode::kAround}};
};

// The common mode of a VM in all tiers, or kByTier if its tiers differ.
enum class EffectiveWriteMode : std::uint8_t {
  kThrough = static_cast<std::uint8_t>(WriteMode::kThrough),
  kBack = static_cast<std::uint8_t>(WriteMode::kBack),
  kAround = static_cast<std::uint8_t>(WriteMode::kAround),
  kByTier
};

// Modes by tier and VM.
using ModesByTier = std::vector<std::vector<WriteMode>>;

struct WriteRules {
  std::vector<WriteMode> modes;  // by VM, the same in all tiers
  ModesByTier by_tier = {};      // replaces modes unless empty
  // Writes around update a copy in the cache instead of dropping it.
  bool update_around = false;
  // If there are more dirty blocks than this, the oldest are written back at once.
  Count most_dirty = std::numeric_limits<Count>::max();
  // Period after which all dirty blocks are written back; 0: never.
  Nanoseconds flush_every = 0;
};

// Check that the tiers of the chain may have these modes. In an exclusive chain, and with staged
// data, each VM needs the same mode in all tiers.
absl::Status check_chain_writes(Chain chain, const ModesByTier& modes, bool stages_data);

}  // namespace mcsim
