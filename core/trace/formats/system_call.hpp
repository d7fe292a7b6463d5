#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A call as strace prints it: name(argument, argument) = result <duration>.
struct SystemCall {
  std::string_view name;
  std::vector<std::string_view> arguments;
  std::optional<std::int64_t> result;  // none: the call did not return
  std::string_view result_text;        // 3</data/a.db>
  Nanoseconds duration = -1;

  std::string_view argument(std::size_t i) const {
    return i < arguments.size() ? arguments[i] : std::string_view();
  }
};

// Nothing if the text is no call.
std::optional<SystemCall> parse_system_call(std::string_view text);

// The number that the text begins with.
std::optional<std::int64_t> leading_number(std::string_view text);

// The path of a descriptor that strace -y prints, 3</data/a.db>; empty if there is none.
std::string_view path_of_descriptor(std::string_view text);

}  // namespace mcsim
