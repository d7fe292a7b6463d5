#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

// Reads trace files as plain bytes with any compression. The codec is detected by its magic number,
// never by the file's name. Files of several members or frames (`cat a.gz b.gz`) are read
// completely; a truncated file is an error.
namespace mcsim {

enum class Codec : std::uint8_t { kNone, kGzip, kZstd, kXz, kBzip2 };

// The codec that wrote a file beginning with `head`.
Codec codec_of(std::string_view head);

// Returns the error if decompressed bytes begin as those of a codec or an archive, "" if not. One
// byte of a magic number may be damaged.
std::string objection_to_packed(std::string_view head);

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `buffer` and returns the number of bytes read, which is less than its size only at the
  // end. DataLoss if the compressed data is damaged or truncated. After an error the source is
  // unusable.
  virtual absl::StatusOr<std::size_t> read(std::span<char> buffer) = 0;

  // The same, but returns early if a pipe has no more bytes yet; 0 only at the end.
  virtual absl::StatusOr<std::size_t> read_some(std::span<char> buffer) { return read(buffer); }

  // Whether a pipe delivers more bytes, or its end, within `patience`; true for files.
  virtual bool is_ready(std::chrono::milliseconds patience) const = 0;

  // Bytes of the file read so far, before decompression.
  virtual std::uint64_t consumed() const = 0;
};

// `path` begins every message.
absl::StatusOr<std::unique_ptr<ByteSource>> open_file(const std::string& path);

// The same for an open file or pipe, which the source closes; `name` begins every message.
absl::StatusOr<std::unique_ptr<ByteSource>> open_descriptor(int descriptor, std::string name);

// The same for bytes in memory; `name` begins every message.
absl::StatusOr<std::unique_ptr<ByteSource>> open_bytes(std::string bytes, std::string name);

}  // namespace mcsim
