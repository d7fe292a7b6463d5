#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/choices.hpp"
#include "core/base/status.hpp"
#include "core/base/tick.hpp"
#include "core/base/types.hpp"
#include "core/containers/shared_array.hpp"
#include "core/trace/requests.hpp"

// The interned trace that every simulation replays. Requests are split into blocks, blocks get
// dense ids, and VMs are merged by time.
namespace mcsim {

enum class OpFilter : std::uint8_t { kReads, kAll };

// Defines which accesses are to the same block.
enum class BlockKey : std::uint8_t {
  kAligned,     // floor(offset / block size)
  kByteOffset,  // the request's byte offset + 0, 1, 2, …: the Multi-Cache authors' code
  kObject,      // the request's offset: one access, whatever its length
};

template <>
struct Choices<OpFilter> {
  static constexpr std::array names{std::pair{"reads", OpFilter::kReads},
                                    std::pair{"all", OpFilter::kAll}};
};
template <>
struct Choices<BlockKey> {
  static constexpr std::array names{std::pair{"aligned", BlockKey::kAligned},
                                    std::pair{"byte-offset", BlockKey::kByteOffset},
                                    std::pair{"object", BlockKey::kObject}};
};

struct ExpandOptions {
  std::uint32_t block_bytes = 4096;
  OpFilter ops = OpFilter::kReads;
  BlockKey key = BlockKey::kAligned;
  // Truncates times to whole seconds since the first request.
  bool whole_seconds = false;
  // Blocks in a line. Lines are aligned, and the blocks of a line have adjacent ids.
  std::uint32_t line_blocks = 1;
  // Requests are cut into pieces at multiples of this; 0: not cut. Each piece becomes a request.
  // Objects are not cut.
  std::uint32_t cut_bytes = 0;
  // The sampling rate of pieces: all or none of those at one place, selected by its hash. Blocks
  // and lines lie in one place each.
  double sample_rate = 1;
  std::uint64_t sample_seed = 1;
  // Whether to keep response times: 8 bytes a request. A piece has its request's.
  bool responses = false;
  // Whether to keep classes: a byte a request. A piece has its request's.
  bool classes = false;
  // Whether to keep the bytes of requests and of each of their blocks: 8 bytes a request. A piece
  // has its own.
  bool bytes = false;
  // Whether to keep the address of every block: 8 bytes a block.
  bool addresses = false;

  friend bool operator==(const ExpandOptions&, const ExpandOptions&) = default;
};

// One VM of an interned trace; its ids are [first_id, first_id + unique_blocks). If a line is
// accessed, all its blocks have ids. Counts requests and accesses after the warm-up. Without an
// arrival time a VM is present from the start.
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

// Requests and accesses, by operation.
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

// A block that is discarded before a request is served: it is removed from all tiers, and its dirty
// data is dropped.
struct Discard {
  std::size_t request = 0;  // at most the number of requests
  BlockId block = 0;
  friend bool operator==(const Discard&, const Discard&) = default;
};

// The bytes of a request; they start at the offset `head` in its first block.
struct RequestBytes {
  std::uint64_t head = 0;
  std::uint64_t bytes = 0;
};

// The bytes in the i-th block. The last block has all remaining bytes, as for objects.
inline Count bytes_in_block(RequestBytes request, std::size_t blocks, std::size_t i,
                            std::uint64_t block_bytes) {
  const std::uint64_t begin = std::max(request.head, i * block_bytes);
  const std::uint64_t end = i + 1 == blocks ? request.head + request.bytes : (i + 1) * block_bytes;
  return static_cast<Count>(end - begin);
}

// All accesses, in time order. The blocks of request r are ids[request_begin[r] .. request_begin[r
// + 1]), all accessed at request_time[r]. Immutable after construction and shared by all threads.
// The columns are in memory or in a mapped file (interning/accesses_file.hpp).
struct Accesses {
  std::vector<VmInfo> vms;
  TimeBase time_base = TimeBase::kClock;
  std::uint32_t block_bytes = 4096;
  // Block b is in line b / line_blocks. Lines are the extents of systems that move extents.
  std::uint32_t line_blocks = 1;
  // Counts of the original requests, including those that sampling dropped.
  GivenCounts given;
  // The number of leading requests that fill caches and are not counted.
  std::size_t warm_up = 0;
  std::vector<Departure> departures;  // in order of time
  // In the order of (time, VM, position in the VM's stream). Discards of blocks that the VM has not
  // accessed before are dropped.
  std::vector<Discard> discards;
  Count discard_requests = 0;  // before that
  bool keeps_responses = false;
  bool keeps_classes = false;
  bool keeps_bytes = false;  // request_bytes and request_head
  bool keeps_addresses = false;

  SharedArray<BlockId> ids;
  SharedArray<std::uint64_t> request_begin{{0}};  // one entry more than requests
  SharedArray<Nanoseconds> request_time;
  SharedArray<VmId> request_vm;
  SharedArray<std::uint8_t> request_op;
  // Optional columns, empty unless kept.
  SharedArray<Nanoseconds> request_response;  // -1: unknown
  SharedArray<std::uint8_t> request_class;    // below kMostClasses
  SharedArray<std::uint32_t> request_bytes;   // as recorded, not rounded to blocks
  SharedArray<std::uint32_t> request_head;    // offset in its first block
  // By id: the offset of the block on the device of its VM, in bytes; or the object.
  SharedArray<std::uint64_t> block_address;

  std::size_t request_count() const { return request_time.size(); }
  Count access_count() const { return static_cast<Count>(ids.size()); }
  // Ids in use: the length of any array indexed by BlockId.
  std::size_t id_count() const {
    return vms.empty() ? BlockId(0) : vms.back().first_id + vms.back().unique_blocks;
  }
  std::span<const BlockId> blocks_of(std::size_t request) const {
    assert(request < request_count());
    return std::span(ids).subspan(request_begin[request],
                                  request_begin[request + 1] - request_begin[request]);
  }
  Count accesses_in(RequestRange range) const {
    assert(range.begin <= range.end && range.end <= request_count());
    return static_cast<Count>(request_begin[range.end] - request_begin[range.begin]);
  }
  // The bytes of a request in its i-th block; requires keeps_bytes.
  Count bytes_in_block(std::size_t request, std::size_t i) const {
    return mcsim::bytes_in_block({request_head[request], request_bytes[request]},
                                 request_begin[request + 1] - request_begin[request], i,
                                 block_bytes);
  }
  RequestRange all() const { return {0, request_count()}; }
  // Releases the pages of these requests if the file is mapped; they are not needed soon.
  void release_pages(RequestRange range) const;
};

}  // namespace mcsim
