#pragma once

#include <cstdint>
#include <optional>

#include "core/base/types.hpp"

namespace mcsim {

// Whether a number of libCacheSim states no operation: its NOP and INVALID.
inline bool is_no_operation(std::uint64_t number) { return number == 0 || number == 255; }

// Returns the operation of libCacheSim with this number; nullopt if the number is unknown.
// Increments and other changes of objects are writes. Records that state none are reads, as
// libCacheSim replays them.
inline std::optional<Op> libcachesim_operation(std::uint64_t number) {
  constexpr std::uint64_t kGet = 1, kGets = 2, kDelete = 9, kRead = 12, kUpdate = 14;
  if (number == kGet || number == kGets || number == kRead) return Op::kRead;
  if (is_no_operation(number)) return Op::kRead;
  if (number == kDelete) return Op::kDiscard;
  if (number > kGets && number <= kUpdate) return Op::kWrite;
  return std::nullopt;
}

}  // namespace mcsim
