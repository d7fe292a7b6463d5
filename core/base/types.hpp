#pragma once

#include <cstdint>
#include <limits>

#include "core/base/index.hpp"

namespace mcsim {

// A block inside an interned trace: every (vm, block address) pair has one, the
// ids of one VM are contiguous. Arrays indexed by it replace hash tables.
using BlockId = Index<struct BlockTag, std::uint32_t>;

// Position of a VM in the trace's list of VMs.
using VmId = Index<struct VmTag, std::uint16_t>;

// Numbers of blocks, accesses, requests: signed, so that differences are safe.
using Count = std::int64_t;

// Points in time and durations alike, in nanoseconds. A trace without clocks
// counts references instead, one "nanosecond" each (see TimeBase).
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kSecond = 1'000'000'000;

// A discard (trim, delete) is no request: it removes blocks.
enum class Op : std::uint8_t { kRead = 0, kWrite = 1, kDiscard = 2 };

// The kind of references: blocks of a device, or whole objects with keys.
enum class TraceKind : std::uint8_t { kBlocks, kObjects };

inline constexpr BlockId kNoBlock = std::numeric_limits<BlockId>::max();

}  // namespace mcsim
