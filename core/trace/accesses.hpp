#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/base/types.hpp"
#include "core/containers/shared_array.hpp"
#include "core/trace/requests.hpp"

// Accesses: the interned trace that every simulation replays. Requests are
// split into blocks, blocks get dense ids, the VMs are merged by time.
namespace mcsim {

enum class OpFilter : std::uint8_t { kReads, kAll };

// What makes two touches the same block.
enum class BlockKey : std::uint8_t {
  kAligned,     // floor(offset / block size)
  kByteOffset,  // the request's byte offset + 0, 1, 2, …: the Multi-Cache authors' code
};

template <>
struct Choices<OpFilter> {
  static constexpr std::array names{std::pair{"reads", OpFilter::kReads},
                                    std::pair{"all", OpFilter::kAll}};
};
template <>
struct Choices<BlockKey> {
  static constexpr std::array names{std::pair{"aligned", BlockKey::kAligned},
                                    std::pair{"byte-offset", BlockKey::kByteOffset}};
};

// What there is of each column of requests that is kept only if somebody asks, in the order in
// which files have them. The extent of an access is no such column: it is the block's line.
template <template <class> class Of>
struct ColumnsOnDemand {
  Of<Nanoseconds> response;
  Of<std::uint8_t> of_class;
  Of<std::uint32_t> bytes;

  auto all() { return std::tie(response, of_class, bytes); }
  auto all() const { return std::tie(response, of_class, bytes); }
};

// Whether they are kept.
using Kept = std::array<bool, 3>;

// Calls `visit` with the first of every row of columns, then the second, and so on.
template <class Visit, class First, class... Rest>
void for_each_column(Visit visit, First&& first, Rest&&... rest) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    const auto at = [&]<std::size_t kAt>(std::integral_constant<std::size_t, kAt>) {
      visit(std::get<kAt>(first), std::get<kAt>(rest)...);
    };
    (at(std::integral_constant<std::size_t, kIndex>{}), ...);
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<First>>>{});
}

struct ExpandOptions {
  std::uint32_t block_bytes = 4096;
  OpFilter ops = OpFilter::kReads;
  BlockKey key = BlockKey::kAligned;
  // Cuts times to whole seconds since the first request.
  bool whole_seconds = false;
  // Blocks of a line: aligned, so many blocks long, with ids side by side.
  std::uint32_t line_blocks = 1;
  // Requests are cut where a multiple of this begins, a request a piece; 0: they are not.
  std::uint32_t cut_bytes = 0;
  // Share of the pieces that is kept: all or none of those at one place, picked by its
  // hash. Blocks and lines are in one place each.
  double sample_rate = 1;
  std::uint64_t sample_seed = 1;
  // Whether response times are kept: 8 bytes a request. A piece has its request's.
  bool responses = false;
  // Whether classes are kept: a byte a request. A piece has its request's.
  bool classes = false;
  // Whether the bytes of requests are kept: 4 bytes a request. A piece has its own.
  bool bytes = false;

  Kept kept() const { return {responses, classes, bytes}; }
  friend bool operator==(const ExpandOptions&, const ExpandOptions&) = default;
};

// One VM of an interned trace; its ids are [first_id, first_id + unique_blocks). Of a
// line that is touched all blocks have ids. Requests and accesses are those after the
// warm-up. Without an arrival time a VM is present from the start.
struct VmInfo {
  std::string name;
  BlockId first_id = 0;
  Count unique_blocks = 0;
  Count requests = 0;
  Count accesses = 0;
  Nanoseconds arrives = std::numeric_limits<Nanoseconds>::min();
};

// A range of requests, [begin, end).
struct RequestRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// How much there is, by operation.
struct GivenCounts {
  std::array<Count, 2> requests{};
  std::array<Count, 2> accesses{};
};

// A VM that leaves the host before a request is served.
struct Departure {
  std::size_t request = 0;  // at most the number of requests
  VmId vm = 0;
  friend bool operator==(const Departure&, const Departure&) = default;
};

// All accesses, in time order. The blocks of request r are
// ids[request_begin[r] .. request_begin[r + 1]), all at request_time[r].
// Immutable once built, and shared by all threads. The columns are in memory, or in a
// file that is mapped (accesses_file.hpp).
struct Accesses {
  std::vector<VmInfo> vms;
  TimeBase time_base = TimeBase::kClock;
  std::uint32_t block_bytes = 4096;
  // Block b is in line b / line_blocks. Systems that move extents have them as lines.
  std::uint32_t line_blocks = 1;
  // Of the requests that were given, those included that the sample left out.
  GivenCounts given;
  // So many requests come first that fill caches and are not counted.
  std::size_t warm_up = 0;
  std::vector<Departure> departures;  // in the order in which they are
  bool keeps_responses = false;
  bool keeps_classes = false;
  bool keeps_bytes = false;

  SharedArray<BlockId> ids;
  SharedArray<std::uint64_t> request_begin{{0}};  // one more than there are requests
  SharedArray<Nanoseconds> request_time;
  SharedArray<VmId> request_vm;
  SharedArray<std::uint8_t> request_op;
  SharedArray<Nanoseconds> request_response;  // if they are kept; -1: not known
  SharedArray<std::uint8_t> request_class;    // if they are kept; below kMostClasses
  SharedArray<std::uint32_t> request_bytes;   // if they are kept; as recorded, whatever blocks

  auto on_demand() { return std::tie(request_response, request_class, request_bytes); }
  auto on_demand() const { return std::tie(request_response, request_class, request_bytes); }
  Kept kept() const { return {keeps_responses, keeps_classes, keeps_bytes}; }

  std::size_t request_count() const { return request_time.size(); }
  Count access_count() const { return static_cast<Count>(ids.size()); }
  // Ids in use: the length of any array indexed by BlockId.
  std::size_t id_count() const {
    return vms.empty() ? BlockId(0) : vms.back().first_id + vms.back().unique_blocks;
  }
  std::span<const BlockId> blocks_of(std::size_t request) const {
    return std::span(ids).subspan(request_begin[request],
                                  request_begin[request + 1] - request_begin[request]);
  }
  Count accesses_in(RequestRange range) const {
    return static_cast<Count>(request_begin[range.end] - request_begin[range.begin]);
  }
  RequestRange all() const { return {0, request_count()}; }
  // These are not looked at soon: of a file that is mapped, memory need not hold them.
  void passed(RequestRange range) const;
};

class AccessesSink;

// Builds Accesses from the requests of one or more VMs. Each VM is one stream,
// added chunk by chunk in time order; finish() merges the streams by
// (time, vm order, position).
//
// Cost: one hash look-up per block; 4 bytes per access and 24 per request while
// building, and the same again while merging. If it is to make a file, all that is on disk;
// in memory is what finds the ids, 11 to 22 bytes a block of the largest VM.
class AccessBuilder {
 public:
  // A file to be made, as write_accesses() would: what is still to be merged, if it is more
  // than so many bytes, is put into files beside it that have no names.
  struct ToFile {
    std::string path;
    std::size_t most_in_memory = std::size_t{1} << 29;
  };

  AccessBuilder(ExpandOptions options, TimeBase time_base,
                std::optional<ToFile> to_file = std::nullopt);
  AccessBuilder(AccessBuilder&&) noexcept;
  AccessBuilder& operator=(AccessBuilder&&) noexcept;
  ~AccessBuilder();

  // Starts a VM; the following add() calls feed it until the next begin_vm(). Fails if
  // that can be no name of a VM, or if there are more VMs than numbers for them.
  absl::Status begin_vm(std::string name);

  // Requests of the current VM: `chunk.vm` only serves `only`, which, if given,
  // keeps just the requests of that VM of a file that holds several. `shift` is
  // added to every time (clock alignment). `chunk.response` and `chunk.of_class` are looked at
  // if they are to be kept; fails with InvalidArgument if there are no classes then.
  // The tick is told of accesses; after it was not OK the builder is of no further use.
  absl::Status add(const RequestsView& chunk, std::optional<VmId> only = std::nullopt,
                   Nanoseconds shift = 0, const Tick& tick = nullptr);

  // The requests of the current VM so far are its warm-up. All those of VMs have to be
  // earlier than all other requests, or finish() fails.
  void end_warm_up();

  // The current VM arrives at this time. Fails if it has a request already.
  absl::Status arrive(Nanoseconds time);

  // The current VM, all of whose requests were added, is gone from this time on.
  absl::Status depart(Nanoseconds time);

  // Fails with InvalidArgument if response times are to be kept and a VM has none, with
  // ResourceExhausted if there are more distinct blocks than ids. So does any
  // of these when memory runs out, and all that are called after it.
  absl::StatusOr<Accesses> finish() &&;

 private:
  struct Stream;
  struct Spill;
  struct Merged;
  struct Due;
  absl::Status spill();
  absl::StatusOr<std::vector<Merged>> streams_to_merge();
  absl::Status merge_into(AccessesSink& sink, std::span<const Due> departures);
  void push_stream(std::string name);
  absl::Status settled(absl::Status status);
  absl::Status add_requests(const RequestsView& chunk, std::optional<VmId> only, Nanoseconds shift,
                            const Tick& tick);
  absl::Status number_keys(Stream& stream, const Tick& tick);
  absl::StatusOr<Accesses> merge();
  absl::StatusOr<Accesses> without_columns() const;
  Nanoseconds kept_time(Nanoseconds time) const;
  absl::Status check_options() const;
  absl::Status check_warm_up() const;
  absl::Status check_responses() const;
  absl::Status take(Stream& stream, const RequestsView& chunk, std::size_t i, Nanoseconds at,
                    const Tick& tick);
  ExpandOptions options_;
  TimeBase time_base_;
  Nanoseconds first_time_;  // of all requests, those filtered out included
  GivenCounts given_;
  std::optional<ToFile> to_file_;
  std::unique_ptr<Spill> spill_;  // as soon as something is in it
  std::size_t held_before_ = 0;   // bytes of streams in memory, without the last
  std::vector<Stream> streams_;
  Count numbered_ = 0;  // accesses that the tick was told of
  Count untold_ = 0;    // and those since then
  absl::Status stopped_;
};

}  // namespace mcsim
