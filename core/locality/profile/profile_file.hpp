#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/accesses.hpp"

// What was found of a trace as files, one for each thing that is measured: so those who ask for
// other meters find what they have in common.
//
// A file is a row of 64-bit words, a head and what was measured, period by period. Words are those
// of the machine: a file is for the machine that made it, or one like it. What it is of, only its
// name can say.
namespace mcsim {

// Changes whenever other bytes are written for what the same accesses show, or a meter shows
// something else.
inline constexpr std::uint64_t kProfileVersion = 3;

// What a meter measured, the curves of the whole trace if none is given. The file is there, or not
// all of it, when this returns: whoever wants it whole or not at all has it take another's place
// afterwards. Unavailable if it cannot be written, InvalidArgument if `found` has no such meter.
absl::Status write_profile(const Characterised& found, const std::optional<MeterSpec>& meter,
                           const std::string& path);

// What was written of that meter and trace, to be known by `characterise`: that nothing is
// damaged, and that it is what those who look at meters rely on. DataLoss says what is not so, and
// NotFound and Unavailable why it cannot be read.
absl::StatusOr<Characterised> read_profile(const Accesses& trace,
                                           const std::optional<MeterSpec>& meter,
                                           const std::string& path);

// The same of words; `name` begins every message.
absl::StatusOr<Characterised> profile_in(std::span<const std::uint64_t> words,
                                         const Accesses& trace,
                                         const std::optional<MeterSpec>& meter,
                                         std::string_view name);

// What a file has, which is not damaged, in a few words: all that can be known without its trace.
absl::StatusOr<std::string> describe_profile(const std::string& path);

}  // namespace mcsim
