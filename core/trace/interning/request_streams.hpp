#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/btree_map.h>

#include "core/base/files.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/containers/block_table.hpp"
#include "core/containers/sample_filter.hpp"
#include "core/containers/shared_array.hpp"
#include "core/trace/accesses.hpp"

// The requests of each VM between reading and merging: in memory, or spilled to disk.
namespace mcsim::interning {

absl::Status too_many_blocks(std::string_view vm);

// A discarded block in the stream of its VM.
struct StreamDiscard {
  Nanoseconds time;
  std::size_t position;  // requests of the VM before it
  std::uint32_t id;      // local
};

// The stream of one VM. Its requests arrive as block keys, which get local ids in portions.
struct RequestStream {
  std::string name = {};
  SpatialFilter filter{1, 0};
  std::uint32_t line_blocks = 1;
  Nanoseconds arrival = std::numeric_limits<Nanoseconds>::min();
  std::optional<Nanoseconds> departure = {};

  std::size_t requests = 0;
  std::size_t accesses = 0;  // with ids
  Nanoseconds last_time = std::numeric_limits<Nanoseconds>::min();
  // The last time in the chunks so far, including discards and filtered requests.
  Nanoseconds last_given = std::numeric_limits<Nanoseconds>::min();
  std::size_t warm_up = 0;  // requests
  std::size_t warm_up_accesses = 0;
  Nanoseconds warm_up_end = std::numeric_limits<Nanoseconds>::min();
  std::optional<Nanoseconds> warm_up_followed = {};  // time of the first request after the warm-up
  std::size_t responded = 0;                         // requests with a known response time

  std::vector<StreamDiscard> discards = {};

  // Columns of the requests and accesses that are not spilled. The last four are optional.
  std::vector<Nanoseconds> time = {};
  std::vector<std::uint8_t> op = {};
  std::vector<std::uint64_t> end = {};  // one past the request's last entry in ids
  std::vector<std::uint32_t> ids = {};  // local: 0, 1, 2, … by first access to the line
  std::vector<Nanoseconds> response = {};
  std::vector<std::uint8_t> of_class = {};
  std::vector<std::uint32_t> bytes = {};
  std::vector<std::uint32_t> head = {};  // offset in the first block

  std::vector<std::uint64_t> keys = {};  // not numbered yet
  std::size_t lines = 0;
  std::optional<BlockTable> line_of = {};  // numbers lines; reset when the next VM begins
  // The lines by their keys, since the first long discard. New lines wait for the next one.
  using Line = std::pair<std::uint64_t, std::uint32_t>;  // key and number
  std::optional<absl::btree_map<std::uint64_t, std::uint32_t>> index = {};
  std::vector<Line> not_indexed = {};
  std::vector<std::uint64_t> line_keys = {};  // by line, if addresses are kept; set by end_lines()

  std::size_t id_count() const { return lines * line_blocks; }
  std::size_t bytes_in_memory() const;
  void end_warm_up();
  // Ends a request after its keys were pushed.
  void push_request(Nanoseconds at, std::uint8_t what);
  // Adds the optional columns of request `i`, or of a piece of it with `piece` bytes, which starts
  // at the offset `at` in its first block.
  void push_optional(const ExpandOptions& options, const RequestsView& chunk, std::size_t i,
                     std::uint32_t piece, std::uint32_t at);
  // Discards the blocks [first, first + count) that have ids. All earlier keys have been numbered.
  // The cost grows with the number of those blocks, not with `count`.
  void discard(Nanoseconds at, std::uint64_t first, std::uint64_t count);
  // Drops the tables of lines, for which no request may follow. Stores the keys of lines first if
  // `keeps_keys`.
  std::optional<BlockTable> end_lines(bool keeps_keys);
  // Replaces keys by ids, many at a time so that cache misses overlap.
  absl::Status number_keys();

 private:
  // Returns the lines of keys, which are the keys if a line has one block.
  std::vector<std::uint64_t> lines_of(std::span<const std::uint64_t> of_keys) const;
  void number_lines(std::span<std::uint32_t> found);
  void look_up_discarded(Nanoseconds at, std::uint64_t first, std::uint64_t count);
  void index_lines();
  void note_new_lines(std::span<const std::uint64_t> of_keys, std::span<const std::uint32_t> found);
};

// Columns of all streams on disk, one stream behind the other.
struct Spill {
  template <class T>
  struct Column {
    std::optional<File> file = {};  // null until the first value
    std::uint64_t bytes = 0;
    SharedArray<T> values = {};  // after map()

    absl::Status take(std::vector<T>& last, const std::string& path);
    absl::Status map();
  };

  Column<Nanoseconds> time = {};
  Column<std::uint8_t> op = {};
  Column<std::uint64_t> end = {};
  Column<std::uint32_t> ids = {};
  Column<Nanoseconds> response = {};
  Column<std::uint8_t> of_class = {};
  Column<std::uint32_t> bytes = {};
  Column<std::uint32_t> head = {};

  // Appends the columns of a stream and clears them; new files are created in the folder of `path`.
  absl::Status take(RequestStream& stream, const std::string& path);
  absl::Status map();
};

}  // namespace mcsim::interning
