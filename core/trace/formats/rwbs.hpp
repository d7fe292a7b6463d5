#pragma once

#include <absl/strings/ascii.h>

#include <algorithm>

#include "core/trace/reading/text.hpp"

// The letters of the Linux kernel for a block request (blk_fill_rwbs): R, W, D (discard) or N
// (none), behind an F if a flush precedes it. Then A (readahead), F (forced unit access), S
// (synchronous), M (metadata), E (secure erase). FF or F alone is a flush, and so is a request with
// an F in front that has no sector.
namespace mcsim {

inline constexpr const char* kRwbsRead = "R*,FR*";
inline constexpr const char* kRwbsWrite = "W*,FW*";
inline constexpr const char* kRwbsDiscard = "D*,FD*";
inline constexpr const char* kRwbsFlush = "F,FF*,FN*";
inline constexpr const char* kRwbsIgnored = "N*,Z*";  // Z: management of zones

// Complains if the last field contains other characters.
inline void check_rwbs(FieldScanner& scan, std::string_view rwbs) {
  constexpr std::size_t kMost = 8;
  const bool is_right = rwbs.size() <= kMost && std::ranges::all_of(rwbs, absl::ascii_isupper);
  if (!is_right) scan.complain_of("letters such as R, WS or FF", rwbs);
}

}  // namespace mcsim
