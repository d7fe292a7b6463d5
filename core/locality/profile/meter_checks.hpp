#pragma once

#include <type_traits>
#include <variant>

#include "core/base/status.hpp"
#include "core/locality/profile/meters.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Returns the window of a meter that consists of periods; null if the meter has none.
template <class Window, class Meter>
Window* window_of(Meter& meter) {
  return std::visit(
      [](auto& of) -> Window* {
        using Kind = std::remove_cvref_t<decltype(of)>;
        if constexpr (std::is_same_v<Kind, IntensityMeter>) {
          return nullptr;
        } else {
          return &of.window;
        }
      },
      meter);
}

// Returns InvalidArgument, with the reason, if the trace cannot be measured with this spec.
absl::Status check_meter(const Accesses& trace, const MeterSpec& spec);

}  // namespace mcsim
