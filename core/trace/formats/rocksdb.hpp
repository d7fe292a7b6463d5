#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Accesses to the block cache of RocksDB, as block_cache_trace_analyzer writes them with
// -human_readable_trace_file_path. 21 columns, of which these are used:
//
//   1 time (us), 2 block id, 4 block size (bytes; 0: unknown)
//
// All lookups are reads of objects, whatever their column family, level and caller.
class RocksdbReader final : public LayoutReader<RocksdbReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "rocksdb",
      "RocksDB block cache trace as CSV: time in us, block id, type, size, and 17 others",
      "github.com/facebook/rocksdb/wiki: Block cache analysis and simulation tools"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 21,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kMicroseconds,
                        .length = "4",
                        .key = "2",
                        .has_own_names = false,
                        .has_whole_times = true}};
  }
};

}  // namespace mcsim
