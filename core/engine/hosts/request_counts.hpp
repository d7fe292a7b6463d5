#pragma once

#include <cstddef>

#include "core/base/types.hpp"
#include "core/trace/accesses.hpp"

// Count hits of requests and of their bytes, in the same way for all hosts.
namespace mcsim {

// The missed blocks of a request, reported in order.
struct MissedBlocks {
  Count count = 0;
  bool first = false;  // whether the first block missed
  bool last = false;

  [[gnu::always_inline]] void note(bool is_first, bool missed) {
    count += missed ? 1 : 0;
    first = is_first ? missed : first;
    last = missed;
  }
};

// The bytes of a request in its missed blocks. All blocks but the first and the last are accessed
// as a whole.
inline Count missed_bytes(const Accesses& trace, std::size_t request, MissedBlocks missed) {
  const std::size_t last = trace.request_begin[request + 1] - trace.request_begin[request] - 1;
  const Count block = trace.block_bytes;
  if (last == 0) return missed.count == 0 ? 0 : trace.bytes_in_block(request, 0);
  Count bytes = missed.count * block;
  if (missed.first) bytes -= block - trace.bytes_in_block(request, 0);
  if (missed.last) bytes -= block - trace.bytes_in_block(request, last);
  return bytes;
}

// Add a request with blocks to the counts of its VM, such as VmCounters.
template <class Counts>
[[gnu::always_inline]] inline void count_request(const Accesses& trace, std::size_t request,
                                                 MissedBlocks missed, Counts& of) {
  ++of.requests;
  of.request_hits += missed.count == 0 ? 1 : 0;
  if (!trace.keeps_bytes) return;
  of.bytes += trace.request_bytes[request];
  of.byte_hits += trace.request_bytes[request] - missed_bytes(trace, request, missed);
}

}  // namespace mcsim
