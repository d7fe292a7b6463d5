#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/status.hpp"
#include "core/engine/model/cache_dump.hpp"
#include "core/trace/accesses.hpp"
#include "policies/hosts/smq.hpp"

namespace mcsim {

enum class DmCachePolicy : std::uint8_t;

// The lines of a dump: those that the trace accesses have the numbers of the trace, and the
// `unaccessed` others follow.
struct DumpedLines {
  std::vector<SmqMapping> mappings;
  std::size_t unaccessed = 0;
};

// What a cache must have to start from a dump.
struct DumpTarget {
  std::size_t entries = 0;
  DmCachePolicy policy;
  bool may_be_dirty = true;
  std::uint64_t origin_lines = 0;               // 0: no limit
  std::span<const std::uint64_t> line_numbers;  // on the device, by line of the trace
};

// The level of a block without a hint: the upper bits of a product with its cache block.
std::uint8_t unhinted_level(std::uint32_t cache_block);

// Fails with the file and line of a mapping that the cache cannot have. `trace` must have one VM
// with addresses.
absl::StatusOr<DumpedLines> lines_of_dump(const CacheDump& dump, const Accesses& trace,
                                          const DumpTarget& target);

}  // namespace mcsim
