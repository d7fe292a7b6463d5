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

// The bytes of an interned trace. A file is a head, a row of 64-bit words, and the columns of
// Accesses in their order, each from a multiple of kColumnAlignment on. Optional columns are
// present if they are kept. Then the head ends with the checksum of response times, if they are
// kept, and with two words for every other one: its number among them, 1 for classes, 2 for
// bytes and 3 for their offsets in blocks, and its checksum. Words are those of the machine: a file
// is for the machine that made it, or one like it.
namespace mcsim {

// Increases whenever other bytes are written for the same accesses, or the same requests make
// other accesses.
inline constexpr std::uint64_t kAccessesVersion = 3;

namespace interning {

inline constexpr std::size_t kRequired = 5;  // columns that are always present
inline constexpr std::size_t kOptional = 4;
inline constexpr std::size_t kColumns = kRequired + kOptional;
inline constexpr std::uint64_t kColumnAlignment = 64;

// By column: of those that are not kept 0.
using Sums = std::array<std::uint64_t, kColumns>;

// Offsets of the columns that are kept, and the end of the last one, in bytes.
struct Layout {
  std::array<std::uint64_t, kColumns> begin{};
  std::uint64_t end = 0;
};

// In the order of the file.
template <class Trace>
auto columns_of(Trace& trace) {
  return std::tie(trace.ids, trace.request_begin, trace.request_time, trace.request_vm,
                  trace.request_op, trace.request_response, trace.request_class,
                  trace.request_bytes, trace.request_head);
}

Layout layout_of(const Accesses& trace, std::size_t requests, std::size_t accesses);

std::vector<std::uint64_t> head_of(const Accesses& trace, std::size_t requests,
                                   std::size_t accesses, const Sums& sums);

// Return a trace with columns that are views of `bytes`, which `owner` keeps. Checks the head; the
// caller checks the columns against `sums`. `name` begins every message.
absl::StatusOr<Accesses> view_of(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner, std::string_view name,
                                 Sums& sums);

}  // namespace interning
}  // namespace mcsim
