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

// Accesses: the interned trace that every simulation replays. Requests are
// split into blocks, blocks get dense ids, the VMs are merged by time.
namespace mcsim {

enum class OpFilter : std::uint8_t { kReads, kAll };

// What makes two touches the same block.
enum class BlockKey : std::uint8_t {
  kAligned,     // floor(offset / block size)
  kByteOffset,  // the request's byte offset + 0, 1, 2, …: the Multi-Cache authors' code
  kObject,      // the request's offset: one reference, whatever its length
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
  // Cuts times to whole seconds since the first request.
  bool whole_seconds = false;
  // Blocks of a line: aligned, so many blocks long, with ids side by side.
  std::uint32_t line_blocks = 1;
  // Requests are cut where a multiple of this begins, a request a piece; 0: they are not.
  // Objects are not cut.
  std::uint32_t cut_bytes = 0;
  // Share of the pieces that is kept: all or none of those at one place, picked by its
  // hash. Blocks and lines are in one place each.
  double sample_rate = 1;
  std::uint64_t sample_seed = 1;
  // Whether response times are kept: 8 bytes a request. A piece has its request's.
  bool responses = false;
  // Whether classes are kept: a byte a request. A piece has its request's.
  bool classes = false;
  // Whether the bytes of requests and of each of their blocks are kept: 8 bytes a request. A
  // piece has its own.
  bool bytes = false;

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

// A block that is discarded before a request is served: it leaves all tiers, its dirty data is
// dropped.
struct Discard {
  std::size_t request = 0;  // at most the number of requests
  BlockId block = 0;
  friend bool operator==(const Discard&, const Discard&) = default;
};

// The bytes of a request, from the offset `head` in its first block on.
struct RequestBytes {
  std::uint64_t head = 0;
  std::uint64_t bytes = 0;
};

// Those in the i-th of its blocks. The last has all the rest, as objects have.
inline Count bytes_in_block(RequestBytes request, std::size_t blocks, std::size_t i,
                            std::uint64_t block_bytes) {
  const std::uint64_t begin = std::max(request.head, i * block_bytes);
  const std::uint64_t end = i + 1 == blocks ? request.head + request.bytes : (i + 1) * block_bytes;
  return static_cast<Count>(end - begin);
}

// All accesses, in time order. The blocks of request r are
// ids[request_begin[r] .. request_begin[r + 1]), all at request_time[r].
// Immutable once built, and shared by all threads. The columns are in memory, or in a
// file that is mapped (interning/accesses_file.hpp).
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
  // In the order of (time, VM, position in the VM's stream). Blocks that their VM has not
  // referenced before have no discard.
  std::vector<Discard> discards;
  Count discard_requests = 0;  // that were given
  bool keeps_responses = false;
  bool keeps_classes = false;
  bool keeps_bytes = false;  // request_bytes and request_head

  SharedArray<BlockId> ids;
  SharedArray<std::uint64_t> request_begin{{0}};  // one more than there are requests
  SharedArray<Nanoseconds> request_time;
  SharedArray<VmId> request_vm;
  SharedArray<std::uint8_t> request_op;
  // Optional columns, empty unless they are kept.
  SharedArray<Nanoseconds> request_response;  // -1: not known
  SharedArray<std::uint8_t> request_class;    // below kMostClasses
  SharedArray<std::uint32_t> request_bytes;   // as recorded, whatever blocks
  SharedArray<std::uint32_t> request_head;    // bytes of its first block before it

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
  // The bytes of a request in its i-th block, if they are kept.
  Count bytes_in_block(std::size_t request, std::size_t i) const {
    return mcsim::bytes_in_block({request_head[request], request_bytes[request]},
                                 request_begin[request + 1] - request_begin[request], i,
                                 block_bytes);
  }
  RequestRange all() const { return {0, request_count()}; }
  // These are not looked at soon: of a file that is mapped, memory need not hold them.
  void passed(RequestRange range) const;
};

}  // namespace mcsim
