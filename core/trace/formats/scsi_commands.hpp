#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "core/trace/reading/operation_words.hpp"

namespace mcsim {

// The hexadecimal codes of SCSI commands by their effects on the blocks of a disk, as words of a
// column. The codes exist for block devices, disks and other devices (SPC-4, SBC-3, MMC-6).
inline constexpr const char* kScsiReads = "8,08,28,88,a8";
// Including those with verification or comparison, and WRITE SAME.
inline constexpr const char* kScsiWrites = "a,0a,2a,2e,41,89,8a,8e,93,aa,ae";
inline constexpr const char* kScsiDiscards = "42";    // UNMAP
inline constexpr const char* kScsiFlushes = "35,91";  // SYNCHRONIZE CACHE
// The last 64 are those of vendors.
inline constexpr const char* kScsiIgnored =
    "0,00,1,01,3,03,4,04,7,07,b,0b,12,15,16,17,1a,1b,1c,1d,1e,25,2b,2f,34,36,37,3b,3c,3e,3f,43,46,"
    "4a,4c,4d,51,52,55,56,57,5a,5e,5f,7f,83,84,85,86,87,8c,8d,8f,90,92,9e,9f,a0,a1,a3,a4,ab,af,b7,"
    "c0,c1,c2,c3,c4,c5,c6,c7,c8,c9,ca,cb,cc,cd,ce,cf,d0,d1,d2,d3,d4,d5,d6,d7,d8,d9,da,db,dc,dd,de,"
    "df,e0,e1,e2,e3,e4,e5,e6,e7,e8,e9,ea,eb,ec,ed,ee,ef,f0,f1,f2,f3,f4,f5,f6,f7,f8,f9,fa,fb,fc,fd,"
    "fe,ff";

// The operations by code; nullopt if there is no such command.
inline constexpr std::array<std::optional<Operation>, 256> kScsiCommands = [] {
  std::array<std::optional<Operation>, 256> commands{};
  const auto assign = [&](Operation operation, std::string_view words) {
    std::size_t code = 0;
    for (const char c : words) {
      if (c == ',') commands[std::exchange(code, 0)] = operation;
      if (c != ',') code = code * 16 + static_cast<std::size_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    commands[code] = operation;
  };
  assign(Operation::kRead, kScsiReads);
  assign(Operation::kWrite, kScsiWrites);
  assign(Operation::kDiscard, kScsiDiscards);
  assign(Operation::kFlush, kScsiFlushes);
  assign(Operation::kIgnored, kScsiIgnored);
  return commands;
}();

}  // namespace mcsim
