#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

// Checks of the units that column names suggest. No unit is inferred from a name: a name that
// suggests another unit than the default is an error until the user states the unit.
namespace mcsim {

// Fails if a column to be read as bytes may count sectors or blocks, or may contain ids.
// `field` is offset or length.
absl::Status check_bytes(std::string_view field, std::string_view column);

// Fails if one of the unused columns may be the length, which is not mapped.
absl::Status check_no_length(std::span<const std::string> unused);
// The same checks for the time and for the operation.
absl::Status check_no_time(std::span<const std::string> unused);
absl::Status check_no_operation(std::span<const std::string> unused);

}  // namespace mcsim
