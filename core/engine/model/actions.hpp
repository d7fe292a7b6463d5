#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"

namespace mcsim {

// Parts of a host that a decision may change.
enum class Action : std::uint8_t {
  kTargets,           // targets of the VMs
  kWriteModes,        // write mode of each VM
  kWriteModesByTier,  // write mode of each VM in each tier
  kAdmission,         // whether new blocks of a VM are admitted
  kPlacements,        // placement of extents
  kMigrations,        // the host of each VM
};

template <>
struct Choices<Action> {
  static constexpr std::array names{std::pair{"targets", Action::kTargets},
                                    std::pair{"write_modes", Action::kWriteModes},
                                    std::pair{"write_modes_by_tier", Action::kWriteModesByTier},
                                    std::pair{"admits", Action::kAdmission},
                                    std::pair{"placements", Action::kPlacements},
                                    std::pair{"migrations", Action::kMigrations}};
};

// A set of actions: those a host supports, a system declares, or a decision contains.
class Actions {
 public:
  constexpr Actions() = default;
  constexpr Actions(std::initializer_list<Action> actions) {
    for (const Action action : actions) add(action);
  }

  constexpr void add(Action action) { bits_ |= 1U << static_cast<unsigned>(action); }
  constexpr bool has(Action action) const {
    return (bits_ >> static_cast<unsigned>(action) & 1U) != 0;
  }
  constexpr Actions without(Actions others) const {
    Actions rest;
    rest.bits_ = bits_ & ~others.bits_;
    return rest;
  }
  friend constexpr bool operator==(Actions, Actions) = default;

 private:
  unsigned bits_ = 0;
};

// The names of the actions, or "nothing".
std::string names_of(Actions actions);

// Check that the host supports all actions; the error lists the unsupported and the supported ones.
absl::Status check_supported(Actions decided, Actions by_host);

}  // namespace mcsim
