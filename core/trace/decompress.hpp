#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.hpp"

// Trace files as plain bytes, whatever they are compressed with. A codec is
// told by its magic number, never by the file's name; files of several members
// or frames (`cat a.gz b.gz`) are read whole; a file cut short is an error.
namespace mcsim {

enum class Codec : std::uint8_t { kNone, kGzip, kZstd, kXz, kBzip2 };

// The codec that wrote a file beginning with `head`.
Codec codec_of(std::string_view head);

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `buffer` and returns the number of bytes put there: less than its
  // size at the end only. DataLoss if the compressed data is damaged or ends
  // too early. After an error the source is of no further use.
  virtual absl::StatusOr<std::size_t> read(std::span<char> buffer) = 0;

  // Does the same, but returns as soon as a pipe has no more bytes yet: 0 at the end only.
  virtual absl::StatusOr<std::size_t> read_some(std::span<char> buffer) { return read(buffer); }

  // Whether more bytes, or the end, come through a pipe within `patience`; true for files.
  virtual bool is_ready(std::chrono::milliseconds patience) const = 0;

  // Bytes of the file itself, compressed as it is, that were read so far.
  virtual std::uint64_t consumed() const = 0;
};

// `path` begins every message.
absl::StatusOr<std::unique_ptr<ByteSource>> open_file(const std::string& path);

// The same for an open file or pipe, which the source closes; `name` begins every message.
absl::StatusOr<std::unique_ptr<ByteSource>> open_descriptor(int descriptor, std::string name);

// The same for bytes in memory; `name` begins every message.
absl::StatusOr<std::unique_ptr<ByteSource>> open_bytes(std::string bytes, std::string name);

}  // namespace mcsim
