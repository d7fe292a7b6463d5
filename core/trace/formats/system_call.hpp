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
  std::optional<std::int64_t> result;  // nullopt if the call did not return
  std::string_view result_text;        // 3</data/a.db>
  Nanoseconds duration = -1;

  std::string_view argument(std::size_t i) const {
    return i < arguments.size() ? arguments[i] : std::string_view();
  }
};

// Returns nullopt if the text is not a call.
std::optional<SystemCall> parse_system_call(std::string_view text);

// Returns the elements of "[a, b]" or "{a, b}"; empty for other texts.
std::vector<std::string_view> elements_of(std::string_view text);

// Returns the number at the beginning of the text.
std::optional<std::int64_t> leading_number(std::string_view text);

// Returns the path of a descriptor as printed by strace -y, 3</data/a.db>; empty without a path.
std::string_view path_of_descriptor(std::string_view text);

}  // namespace mcsim
