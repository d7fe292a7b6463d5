#pragma once

#include <cstddef>

#include "core/engine/policy/access.hpp"
#include "core/trace/accesses.hpp"

namespace mcsim {

// Return the context of a request with blocks. Its byte range is set if `with_address`; the trace
// must then keep addresses.
[[gnu::always_inline]] inline RequestContext context_of(const Accesses& trace, std::size_t request,
                                                        bool with_address) {
  const std::uint64_t begin = trace.request_begin[request];
  const std::uint64_t blocks = trace.request_begin[request + 1] - begin;
  RequestContext context{.number = request,
                         .time = trace.request_time[request],
                         .vm = trace.request_vm[request],
                         .op = static_cast<Op>(trace.request_op[request]),
                         .blocks = static_cast<Count>(blocks)};
  if (!with_address) return context;
  context.offset = trace.block_address[trace.ids[begin]];
  context.bytes = blocks * trace.block_bytes;
  if (!trace.keeps_bytes) return context;
  context.offset += trace.request_head[request];
  context.bytes = trace.request_bytes[request];
  return context;
}

}  // namespace mcsim
