#pragma once

#include <cstdint>
#include <optional>

#include "core/base/types.hpp"

namespace mcsim {

// The operations of libCacheSim, by number.
inline constexpr std::uint64_t kLibCacheSimNop = 0;
inline constexpr std::uint64_t kLibCacheSimInvalid = 255;

// Returns the operation with this number; nullopt if the number is unknown. Increments and other
// changes of objects are writes.
inline std::optional<Op> libcachesim_operation(std::uint64_t number) {
  constexpr std::uint64_t kGet = 1, kGets = 2, kDelete = 9, kRead = 12, kUpdate = 14;
  if (number == kGet || number == kGets || number == kRead) return Op::kRead;
  if (number == kDelete) return Op::kDiscard;
  if (number > kGets && number <= kUpdate) return Op::kWrite;
  return std::nullopt;
}

}  // namespace mcsim
