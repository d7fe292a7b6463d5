#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/status.hpp"

// Files of plain bytes: written at given offsets, and read through memory mappings.
namespace mcsim {

// A whole file in memory, read-only. If the file is truncated while it is mapped, an access ends
// the process (SIGBUS). So mapped files are replaced by new ones, never changed in place.
class Mapping {
 public:
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  friend class File;
  Mapping();

  std::span<const std::byte> bytes_;
};

// Release the physical pages of memory that is not read again soon, if it is mapped from a file; a
// later access reads the file again. No effect on other memory.
void advise_dont_need(std::span<const std::byte> memory);

template <class T>
void advise_dont_need(std::span<const T> values) {
  advise_dont_need(std::as_bytes(values));
}

// Call visit(part) for consecutive parts of the values, and release the pages of each part
// afterwards.
template <class T, class Visit>
void for_each_part(std::span<const T> values, Visit&& visit) {
  constexpr std::size_t kPart = (std::size_t{1} << 22) / sizeof(T);
  while (!values.empty()) {
    const std::span<const T> part = values.first(std::min(kPart, values.size()));
    visit(part);
    advise_dont_need(part);
    values = values.subspan(part.size());
  }
}

// Map an existing file into memory.
absl::StatusOr<std::shared_ptr<const Mapping>> map_file(const std::string& path);

class File {
 public:
  // Open an existing file for reading.
  static absl::StatusOr<File> open(std::string path);
  // Create or empty a file for writing and reading.
  static absl::StatusOr<File> create(std::string path);
  // Create an unnamed temporary file on the disk of `path`; it vanishes with this object and its
  // mappings.
  static absl::StatusOr<File> create_unnamed(const std::string& path);

  File(File&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File();

  // Write all bytes at `offset`; the error is Unavailable and has the path and the reason.
  absl::Status write(std::span<const std::byte> bytes, std::uint64_t offset) const;
  // Extend the file with zeroes to at least this size.
  absl::Status extend(std::uint64_t bytes) const;
  // Map the file at its current size.
  absl::StatusOr<std::shared_ptr<const Mapping>> map() const;

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;  // for messages
};

}  // namespace mcsim
