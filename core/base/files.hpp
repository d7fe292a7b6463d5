#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/status.hpp"

// Files of plain bytes: written where one says, and mapped into memory to be read.
namespace mcsim {

// A whole file in memory, read-only. Whoever makes the file shorter meanwhile ends this
// process: files that are mapped are replaced by others and never changed.
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

// Memory that is not read soon: what of it is mapped from files need not be held, and is read
// anew if it has to be. Other memory stays as it is.
void let_go(std::span<const std::byte> memory);

template <class T>
void let_go(std::span<const T> values) {
  let_go(std::as_bytes(values));
}

// Calls visit(part) for one part of the values after the other, and lets go of each.
template <class T, class Visit>
void for_each_part(std::span<const T> values, Visit&& visit) {
  constexpr std::size_t kPart = (std::size_t{1} << 22) / sizeof(T);
  while (!values.empty()) {
    const std::span<const T> part = values.first(std::min(kPart, values.size()));
    visit(part);
    let_go(part);
    values = values.subspan(part.size());
  }
}

// A file that is there, in memory.
absl::StatusOr<std::shared_ptr<const Mapping>> map_file(const std::string& path);

class File {
 public:
  // To be read.
  static absl::StatusOr<File> open(std::string path);
  // To be written and read: an empty one.
  static absl::StatusOr<File> create(std::string path);
  // One without a name, on the disk of `path`, that is gone with this object and its mappings.
  static absl::StatusOr<File> unnamed_beside(const std::string& path);

  File(File&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~File();

  // Unavailable, with the reason and the path, if that cannot be.
  absl::Status write(std::span<const std::byte> bytes, std::uint64_t offset) const;
  // Makes it so long at least, with zeroes.
  absl::Status extend(std::uint64_t bytes) const;
  // As long as it is.
  absl::StatusOr<std::shared_ptr<const Mapping>> map() const;

 private:
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;  // for messages
};

}  // namespace mcsim
