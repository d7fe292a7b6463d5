#pragma once

#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>

// Every boundary of core returns absl::Status or StatusOr: nothing throws and nothing prints. These
// helpers construct statuses. Messages state what is wrong, where, and what would be right.
namespace mcsim {

template <class... Args>
absl::Status invalid_argument(fmt::format_string<Args...> text, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
absl::Status not_found(fmt::format_string<Args...> text, Args&&... args) {
  return absl::NotFoundError(fmt::format(text, std::forward<Args>(args)...));
}

template <class... Args>
absl::Status out_of_range(fmt::format_string<Args...> text, Args&&... args) {
  return absl::OutOfRangeError(fmt::format(text, std::forward<Args>(args)...));
}

// A trace file that contradicts its format.
template <class... Args>
absl::Status data_loss(fmt::format_string<Args...> text, Args&&... args) {
  return absl::DataLossError(fmt::format(text, std::forward<Args>(args)...));
}

// A bug in mcsim: an internal invariant is violated.
template <class... Args>
absl::Status internal_error(fmt::format_string<Args...> text, Args&&... args) {
  return absl::InternalError(fmt::format(text, std::forward<Args>(args)...));
}

// Convert the message, since Abseil's own string_view on Debian is not std::string_view.
inline std::string message_of(const absl::Status& status) { return std::string(status.message()); }

}  // namespace mcsim

#define MCSIM_CONCAT_INNER(a, b) a##b
#define MCSIM_CONCAT(a, b) MCSIM_CONCAT_INNER(a, b)

#define MCSIM_RETURN_IF_ERROR(expression)                     \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#define MCSIM_ASSIGN_OR_RETURN(target, expression)        \
  auto MCSIM_CONCAT(status_or_, __LINE__) = (expression); \
  if (!MCSIM_CONCAT(status_or_, __LINE__).ok()) {         \
    return MCSIM_CONCAT(status_or_, __LINE__).status();   \
  }                                                       \
  target = *std::move(MCSIM_CONCAT(status_or_, __LINE__))
