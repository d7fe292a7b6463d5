#pragma once

#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/status.hpp"

// Where memory that ran out becomes a status. Containers, pages and threads say so by
// throwing, and what throws is let through up to the boundary of core: there, and
// around whatever a thread of ours does, stands guarded().
namespace mcsim {

// ResourceExhausted, and made even if there is not a byte left for its message.
inline absl::Status out_of_memory(std::string_view what) noexcept {
  try {
    return absl::ResourceExhaustedError(fmt::format("{}: there is not enough memory", what));
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// Returns what `work` does, a Status or StatusOr, or ResourceExhausted; `what` begins
// the message of that and says what was being done.
template <class Work>
std::invoke_result_t<Work> guarded(std::string_view what, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return out_of_memory(what);
  } catch (const std::length_error&) {  // more elements than a container can ever have
    return out_of_memory(what);
  }
}

}  // namespace mcsim
