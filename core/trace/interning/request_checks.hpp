#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/interning/request_streams.hpp"
#include "core/trace/requests.hpp"

// Validates the input of AccessBuilder. Each function returns InvalidArgument or OutOfRange.
namespace mcsim::interning {

absl::Status check_options(const ExpandOptions& options, TimeBase time_base);

// Checks that the optional columns that the options keep are present and valid.
absl::Status check_optional_columns(const RequestsView& chunk, const ExpandOptions& options,
                                    std::string_view vm);

// Returns the error of a request with an unknown operation, or with a time that overflows or is
// before `latest`: the last request, or the arrival of the VM.
absl::Status request_error(const RequestsView& chunk, std::size_t i, Nanoseconds shift,
                           Nanoseconds latest, const RequestStream& stream);

// Checks that the warm-up of all VMs ends before the first other request.
absl::Status check_warm_up(std::span<const RequestStream> streams);

// Checks that every VM with requests has a response time.
absl::Status check_responses(std::span<const RequestStream> streams);

}  // namespace mcsim::interning
