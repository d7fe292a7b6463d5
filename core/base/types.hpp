#pragma once

#include <cstdint>
#include <limits>

#include "core/base/index.hpp"

namespace mcsim {

// A block of an interned trace: every pair (VM, block address) has one id, and the ids of one VM
// are contiguous. Arrays indexed by it replace hash tables.
using BlockId = Index<struct BlockTag, std::uint32_t>;

// Position of a VM in the trace's list of VMs.
using VmId = Index<struct VmTag, std::uint16_t>;

// Numbers of blocks, accesses, requests. Signed, so that differences cannot wrap.
using Count = std::int64_t;

// Points in time and durations, in nanoseconds. A trace without clock times counts references
// instead, one "nanosecond" each (see TimeBase).
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kSecond = 1'000'000'000;

// A discard (trim, delete) is not a request: it removes blocks.
enum class Op : std::uint8_t { kRead = 0, kWrite = 1, kDiscard = 2 };

// The kind of references: blocks of a device, or whole objects identified by keys.
enum class TraceKind : std::uint8_t { kBlocks, kObjects };

inline constexpr BlockId kNoBlock = std::numeric_limits<BlockId>::max();

}  // namespace mcsim
