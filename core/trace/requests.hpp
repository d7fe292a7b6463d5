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

// Requests: the content of a trace file, as columns. A reader produces them in chunks, the Arrow
// store keeps them, and all later stages start from them.
namespace mcsim {

// The unit of the time column.
enum class TimeBase : std::uint8_t {
  kClock,  // nanoseconds since the Unix epoch, or since the trace's own zero
  kIndex,  // without a clock: the number of references before this request
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

// The maximum number of request classes; class 0 matters most.
inline constexpr std::size_t kMostClasses = 8;

// A chunk of requests, borrowed. All columns have the same length.
struct RequestsView {
  std::span<const Nanoseconds> time;
  std::span<const VmId> vm;                     // index into the list of VM names
  std::span<const std::uint8_t> op;             // Op
  std::span<const std::uint64_t> offset;        // bytes; the key of an object
  std::span<const std::uint32_t> length;        // bytes; 0: no block; the size of an object
  std::span<const Nanoseconds> response;        // duration; -1: unknown
  std::span<const std::uint8_t> of_class = {};  // below kMostClasses; empty without classes

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
  std::vector<std::uint8_t> of_class;  // for all requests, or empty

  std::size_t size() const { return time.size(); }

  void clear() {
    time.clear(), vm.clear(), op.clear();
    offset.clear(), length.clear(), response.clear(), of_class.clear();
  }

  // Does not reserve classes, which few traces have.
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

// The number of different VM ids.
inline constexpr std::size_t kMostVms = std::size_t{std::numeric_limits<VmId>::max()} + 1;

// Whether a text can be the name of a VM: not empty, and UTF-8 without control characters, so that
// it can appear in any table or message.
bool is_vm_name(std::string_view name);

// The error ends with "…, got 'caf\xe9'".
absl::Status check_vm_name(std::string_view name);

// Checks columns from a file: equal lengths, each VM one of `vms`, known operations, no blocks
// beyond 64 bits, times in order. The columns begin with row `first_row`, and `after` is the time
// of the row before. All later code relies on these properties. The error names the row.
absl::Status check_requests(const RequestsView& rows, TraceKind kind, std::size_t vms,
                            std::size_t first_row, Nanoseconds after);

// Computes the checksum of columns that begin with row `first_row`; it depends on that number.
// Missing classes are not included.
std::uint64_t checksum_of(const RequestsView& rows, std::size_t first_row);

}  // namespace mcsim
