#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"

// Requests: what a trace file says, as columns. A reader produces them in
// chunks, the Arrow store keeps them, and everything later starts from them.
namespace mcsim {

// What the time column counts.
enum class TimeBase : std::uint8_t {
  kClock,  // nanoseconds since the Unix epoch, or since the trace's own zero
  kIndex,  // the trace has no clock: references made before this request
};

template <>
struct Choices<TimeBase> {
  static constexpr std::array names{std::pair{"clock", TimeBase::kClock},
                                    std::pair{"index", TimeBase::kIndex}};
};

template <>
struct Choices<TraceKind> {
  static constexpr std::array names{std::pair{"blocks", TraceKind::kBlocks},
                                    std::pair{"objects", TraceKind::kObjects}};
};

// As many classes of requests as there can be; class 0 is worth most.
inline constexpr std::size_t kMostClasses = 8;

// A chunk of requests, borrowed. All columns have the same length.
struct RequestsView {
  std::span<const Nanoseconds> time;
  std::span<const VmId> vm;                     // into the list of VM names kept beside the columns
  std::span<const std::uint8_t> op;             // Op
  std::span<const std::uint64_t> offset;        // bytes; of an object, its key
  std::span<const std::uint32_t> length;        // bytes; 0 touches no block; of an object, its size
  std::span<const Nanoseconds> response;        // duration, or -1 where the trace has none
  std::span<const std::uint8_t> of_class = {};  // below kMostClasses; empty: the trace has none

  std::size_t size() const { return time.size(); }
};

// A chunk of requests, owned.
struct Requests {
  std::vector<Nanoseconds> time;
  std::vector<VmId> vm;
  std::vector<std::uint8_t> op;
  std::vector<std::uint64_t> offset;
  std::vector<std::uint32_t> length;
  std::vector<Nanoseconds> response;
  std::vector<std::uint8_t> of_class;  // of all requests, or of none

  std::size_t size() const { return time.size(); }

  void clear() {
    time.clear(), vm.clear(), op.clear();
    offset.clear(), length.clear(), response.clear(), of_class.clear();
  }

  // But for classes, which few have.
  void reserve(std::size_t count) {
    time.reserve(count), vm.reserve(count), op.reserve(count);
    offset.reserve(count), length.reserve(count), response.reserve(count);
  }

  void push(Nanoseconds at, VmId of, Op what, std::uint64_t from, std::uint32_t bytes,
            Nanoseconds took = -1, std::optional<std::uint8_t> its_class = std::nullopt) {
    time.push_back(at);
    vm.push_back(of);
    op.push_back(static_cast<std::uint8_t>(what));
    offset.push_back(from);
    length.push_back(bytes);
    response.push_back(took);
    if (its_class) of_class.push_back(*its_class);
  }

  RequestsView view() const { return {time, vm, op, offset, length, response, of_class}; }
};

// There are numbers for so many VMs.
inline constexpr std::size_t kMostVms = std::size_t{std::numeric_limits<VmId>::max()} + 1;

// Whether that may be the name of a VM: text in UTF-8 without control characters, so
// that it can stand in any table or message; and not nothing.
bool is_vm_name(std::string_view name);

// "…, got 'caf\xe9'"
absl::Status check_vm_name(std::string_view name);

// Whether columns from a file are what a trace may hold: equally long, each VM one of
// `vms`, known operations, no blocks beyond 64 bits, in the order of time. They begin
// with row `first_row`, and `after` is the time of the row before. Everything behind
// this relies on it. Says which row is wrong.
absl::Status check_requests(const RequestsView& rows, TraceKind kind, std::size_t vms,
                            std::size_t first_row, Nanoseconds after);

// The checksum of columns that begin with row `first_row`: not that of the same rows
// elsewhere. Where there are no classes they are not in it.
std::uint64_t checksum_of(const RequestsView& rows, std::size_t first_row);

}  // namespace mcsim
