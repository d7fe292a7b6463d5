#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"
#include "core/locality/profile/characterise.hpp"
#include "core/trace/accesses.hpp"

// Stores measurements of a trace in files, one for each measurement, so that later runs with other
// meters can reuse them.
//
// A file is a sequence of 64-bit words, a head and the measurement, period by period. Words are in
// the byte order of the machine. The file does not identify its trace; its name must.
namespace mcsim {

// Changes whenever the bytes for the same accesses change, or the meaning of a meter.
inline constexpr std::uint64_t kProfileVersion = 4;

// Writes a meter's measurement, or the curves of the whole trace if no meter is given. After an
// error the file may be incomplete: for an atomic write, write a temporary file and rename it.
// Returns Unavailable if it cannot be written, InvalidArgument if `found` has no such meter.
absl::Status write_profile(const Characterised& found, const std::optional<MeterSpec>& meter,
                           const std::string& path);

// Reads a measurement of a meter and a trace, for the `known` of `characterise`. Checks that it is
// undamaged and has the properties that readers of meters rely on. Returns DataLoss with the
// violated property, or NotFound or Unavailable if the file cannot be read.
absl::StatusOr<Characterised> read_profile(const Accesses& trace,
                                           const std::optional<MeterSpec>& meter,
                                           const std::string& path);

// The same for words in memory; `name` begins every message.
absl::StatusOr<Characterised> profile_in(std::span<const std::uint64_t> words,
                                         const Accesses& trace,
                                         const std::optional<MeterSpec>& meter,
                                         std::string_view name);

// Describes the content of an undamaged file briefly, as far as possible without its trace.
absl::StatusOr<std::string> describe_profile(const std::string& path);

}  // namespace mcsim
