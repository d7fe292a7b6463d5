#pragma once

#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/status.hpp"

// Turn memory exhaustion into a status. Containers, pages and threads throw when memory runs out.
// guarded() catches the exception at the boundary of core, and around the work of each thread.
namespace mcsim {

// ResourceExhausted; needs no memory if even its message cannot be allocated.
inline absl::Status out_of_memory(std::string_view what) noexcept {
  try {
    return absl::ResourceExhaustedError(fmt::format("{}: there is not enough memory", what));
  } catch (const std::bad_alloc&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// Return the result of `work`, a Status or StatusOr, or ResourceExhausted if memory runs out.
// `what` begins the error message and names the work.
template <class Work>
std::invoke_result_t<Work> guarded(std::string_view what, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return out_of_memory(what);
  } catch (const std::length_error&) {  // more elements than a container can have
    return out_of_memory(what);
  }
}

}  // namespace mcsim
