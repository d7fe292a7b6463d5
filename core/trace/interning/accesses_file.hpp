#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

// Interned traces as files, which are mapped for replays: any number of processes can share one,
// and it may be larger than memory.
namespace mcsim {

// Writes in place: for an atomic result, write elsewhere and rename. Unavailable if the file
// cannot be written.
absl::Status write_accesses(const Accesses& trace, const std::string& path);

// Maps a file after checking all checksums and properties that replays rely on, in one pass over
// the file. Returns DataLoss for a damaged file, NotFound or Unavailable for an unreadable one.
absl::StatusOr<Accesses> open_accesses(const std::string& path);
// Maps a file without checking its content: another process of this computation has checked it.
// Reads only the head.
absl::StatusOr<Accesses> open_trusted_accesses(const std::string& path);

// The same for bytes owned by `owner`, aligned to 8; `name` begins every message.
absl::StatusOr<Accesses> accesses_in(std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> owner, std::string_view name);

}  // namespace mcsim
