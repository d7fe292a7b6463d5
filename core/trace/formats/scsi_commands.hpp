#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mcsim {

// The effect of a SCSI command on the blocks of a disk.
enum class ScsiCommand : std::uint8_t { kUnknown, kRead, kWrite, kFlush, kOther };

// The effects by operation code. The codes exist for block devices, disks and other devices (SPC-4,
// SBC-3, MMC-6).
inline constexpr std::array<ScsiCommand, 256> kScsiCommands = [] {
  std::array<ScsiCommand, 256> commands{};
  const auto assign = [&](ScsiCommand command, std::string_view codes) {
    for (const char code : codes) commands[static_cast<unsigned char>(code)] = command;
  };
  using namespace std::string_view_literals;
  assign(ScsiCommand::kOther,
         "\x00\x01\x03\x04\x07\x0b\x12\x15\x16\x17\x1a\x1b\x1c\x1d\x1e\x25\x2b\x2f\x34\x36\x37"
         "\x3b\x3c\x3e\x3f\x43\x46\x4a\x4c\x4d\x51\x52\x55\x56\x57\x5a\x5e\x5f\x7f\x83\x84\x85"
         "\x86\x87\x8c\x8d\x8f\x90\x92\x9e\x9f\xa0\xa1\xa3\xa4\xab\xaf\xb7"sv);
  assign(ScsiCommand::kRead, "\x08\x28\xa8\x88"sv);
  // Writes, including those with verification or comparison.
  assign(ScsiCommand::kWrite, "\x0a\x2a\xaa\x8a\x2e\xae\x8e\x89"sv);
  // WRITE SAME and UNMAP: the command does not contain the blocks that they discard.
  assign(ScsiCommand::kOther, "\x41\x93\x42"sv);
  assign(ScsiCommand::kFlush, "\x35\x91"sv);  // SYNCHRONIZE CACHE
  return commands;
}();

}  // namespace mcsim
