#pragma once

#include <optional>
#include <string_view>

#include "core/base/types.hpp"

namespace mcsim {

// Parses an ISO 8601 date and time into nanoseconds since 1970: 2016-02-22 19:00:00.25+01:00. Parts
// from the right may be missing, and a T may replace the blank. The default zone is UTC.
std::optional<Nanoseconds> parse_iso_time(std::string_view text);

}  // namespace mcsim
