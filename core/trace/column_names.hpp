#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

// Checks of the units that names of columns suggest. Nothing is assumed from a name: one that
// suggests another unit than the default is an error, which a stated unit ends.
namespace mcsim {

// Fails if a column that is to be read as bytes may count sectors or blocks, or may hold ids.
// `field` is offset or length.
absl::Status check_bytes(std::string_view field, std::string_view column);

// Fails if one of the columns without a meaning may be the length, which is not mapped.
absl::Status check_no_length(std::span<const std::string> unused);
// The same of the time and of the operation.
absl::Status check_no_time(std::span<const std::string> unused);
absl::Status check_no_operation(std::span<const std::string> unused);

}  // namespace mcsim
