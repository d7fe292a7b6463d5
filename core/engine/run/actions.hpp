#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"

namespace mcsim {

// What a decision may change.
enum class Action : std::uint8_t {
  kTargets,           // what each VM is granted
  kWriteModes,        // what becomes of each VM's writes
  kWriteModesByTier,  // and by tier
  kAdmission,         // whether blocks of a VM come in
  kPlacements,        // where extents live
  kMigrations,        // on which host VMs are
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

// A set of them: what a host can do, what a system decides, what a decision has.
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

// Their names, or "nothing".
std::string names_of(Actions actions);

// That a host can do all that is decided; an error says what it cannot, and what it can.
absl::Status check_supported(Actions decided, Actions by_host);

}  // namespace mcsim
