#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/types.hpp"

namespace mcsim {

// A block that is read from the backend, written to it, or discarded.
struct BackendAccess {
  std::uint64_t request;  // the request during or before which it happens
  BlockId block;
  Op op;
};

// Record the accesses to the backend in order: read misses, writes through and around, write-backs,
// extents that move, discards. A host with a log reports each block before its victims. Requests
// are replayed one by one, so that hosts need not report request numbers.
class BackendLog {
 public:
  void begin_request(std::size_t request) { request_ = request; }
  // Discards and write-backs of departing VMs happen before the request.
  void discard(std::size_t request, std::span<const BlockId> blocks) {
    begin_request(request);
    for (const BlockId block : blocks) push(Op::kDiscard, block);
  }
  void push(Op op, BlockId block) { accesses_.push_back({request_, block, op}); }
  // Return the accesses since the last call.
  std::vector<BackendAccess> take() { return std::exchange(accesses_, {}); }

 private:
  std::uint64_t request_ = 0;
  std::vector<BackendAccess> accesses_;
};

}  // namespace mcsim
