#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/status.hpp"
#include "core/trace/accesses.hpp"

// The file format of an interned trace. A file is a head, a sequence of 64-bit words, and the
// columns of Accesses in their order, each aligned to kColumnAlignment. Optional columns are
// present if they are kept. The head then ends with the checksum of response times, if kept, and
// with two words for every other optional column: its number (1 for classes, 2 for bytes, 3 for
// their offsets in blocks, 4 for addresses) and its checksum. Words are in the byte order of the
// machine.
namespace mcsim {

// Increases whenever the bytes for the same accesses, or the accesses for the same requests,
// change.
inline constexpr std::uint64_t kAccessesVersion = 3;

namespace interning {

inline constexpr std::size_t kRequired = 5;  // columns that are always present
inline constexpr std::size_t kOptional = 5;
inline constexpr std::size_t kColumns = kRequired + kOptional;
inline constexpr std::uint64_t kColumnAlignment = 64;

// By column; 0 for columns that are not kept.
using Sums = std::array<std::uint64_t, kColumns>;

// Offsets and sizes of the columns, and the end of the last one, in bytes. 0 for columns that are
// not kept.
struct Layout {
  std::array<std::uint64_t, kColumns> begin{};
  std::array<std::uint64_t, kColumns> bytes{};
  std::uint64_t end = 0;
};

// The columns in the order of the file.
template <class Trace>
auto columns_of(Trace& trace) {
  return std::tie(trace.ids, trace.request_begin, trace.request_time, trace.request_vm,
                  trace.request_op, trace.request_response, trace.request_class,
                  trace.request_bytes, trace.request_head, trace.block_address);
}

Layout layout_of(const Accesses& trace, std::size_t requests, std::size_t accesses);

// Reads all columns, and releases their pages.
Sums sums_of(const Accesses& trace);

std::vector<std::uint64_t> head_of(const Accesses& trace, std::size_t requests,
                                   std::size_t accesses, const Sums& sums);

// The beginning of a file.
struct FileHead {
  Accesses trace;  // without columns
  std::size_t words = 0;
  std::size_t requests = 0;
  std::size_t accesses = 0;
  Sums sums{};
};

// Reads and checks the head at the beginning of `bytes`. `name` begins every message.
absl::StatusOr<FileHead> head_in(std::span<const std::byte> bytes, std::string_view name);

absl::Status not_of_this_version(std::string_view name, std::string_view why);

// Returns a trace with columns that are views of `bytes`, which `owner` keeps alive. Checks the
// head; the caller checks the columns against `sums`. `name` begins every message.
absl::StatusOr<Accesses> view_of(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner, std::string_view name,
                                 Sums& sums);

}  // namespace interning
}  // namespace mcsim
