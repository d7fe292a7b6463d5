#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

// Interned traces as files. A plain one is mapped for replays: any number of processes can share
// it, and it may be larger than memory. A packed one takes a few bytes a request, and is read
// into memory.
namespace mcsim {

// Writes in place: for an atomic result, write elsewhere and rename. Unavailable if the file
// cannot be written.
absl::Status write_accesses(const Accesses& trace, const std::string& path);

absl::Status write_packed_accesses(const Accesses& trace, const std::string& path);

// Maps or reads a file after checking all checksums and properties that replays rely on, in one
// pass over the file. Returns DataLoss for a damaged file, NotFound or Unavailable for an
// unreadable one.
absl::StatusOr<Accesses> open_accesses(const std::string& path);
// The same without checking its content: another process of this computation has checked it. Reads
// only the head of a plain file.
absl::StatusOr<Accesses> open_trusted_accesses(const std::string& path);

// The same for bytes owned by `owner`, aligned to 8; `name` begins every message.
absl::StatusOr<Accesses> accesses_in(std::span<const std::byte> bytes,
                                     std::shared_ptr<const void> owner, std::string_view name);

// What the head of a file says.
struct AccessesHead {
  std::size_t accesses = 0;
  std::size_t vms = 0;
  std::uint32_t block_bytes = 0;
};
absl::StatusOr<AccessesHead> describe_accesses(const std::string& path);

}  // namespace mcsim
