#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/types.hpp"

// One access, as policies, filters and hosts see it.
namespace mcsim {

// Position in the trace of the next access to the same block.
using NextUse = std::uint32_t;
inline constexpr NextUse kNever = std::numeric_limits<NextUse>::max();

// The request that an access is part of.
struct RequestContext {
  std::size_t number = 0;  // position in the trace
  Nanoseconds time = 0;
  VmId vm = 0;
  Op op = Op::kRead;
  Count blocks = 1;
  // The byte range on the device of the VM. Set only for caches of which a filter or policy
  // declares that it reads addresses; the range is whole blocks unless the trace keeps bytes.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The context of accesses without a request, such as the victims of a resize.
inline constexpr RequestContext kNoRequest{};

template <class BlockType = BlockId>
struct Access {
  using Block = BlockType;
  Block block;
  Op op = Op::kRead;
  NextUse next_use = kNever;   // only for policies that need it
  std::uint32_t position = 0;  // in the request
  Count weight = 1;            // space of the block: 1, or the bytes of an object
  // The request that accesses the block, or that demotes it from a faster tier.
  const RequestContext* request = &kNoRequest;
};

}  // namespace mcsim
