#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/trace/operation_words.hpp"

namespace mcsim {

// The effects of SCSI commands on the blocks of a disk, by operation code; nullopt if there is no
// such command. The codes exist for block devices, disks and other devices (SPC-4, SBC-3, MMC-6).
inline constexpr std::array<std::optional<Operation>, 256> kScsiCommands = [] {
  std::array<std::optional<Operation>, 256> commands{};
  const auto assign = [&](Operation operation, std::string_view codes) {
    for (const char code : codes) commands[static_cast<unsigned char>(code)] = operation;
  };
  using namespace std::string_view_literals;
  assign(Operation::kIgnored,
         "\x00\x01\x03\x04\x07\x0b\x12\x15\x16\x17\x1a\x1b\x1c\x1d\x1e\x25\x2b\x2f\x34\x36\x37"
         "\x3b\x3c\x3e\x3f\x43\x46\x4a\x4c\x4d\x51\x52\x55\x56\x57\x5a\x5e\x5f\x7f\x83\x84\x85"
         "\x86\x87\x8c\x8d\x8f\x90\x92\x9e\x9f\xa0\xa1\xa3\xa4\xab\xaf\xb7"sv);
  for (std::size_t vendor = 0xc0; vendor <= 0xff; ++vendor) commands[vendor] = Operation::kIgnored;
  assign(Operation::kRead, "\x08\x28\xa8\x88"sv);
  // Writes, including those with verification or comparison, and WRITE SAME.
  assign(Operation::kWrite, "\x0a\x2a\xaa\x8a\x2e\xae\x8e\x89\x41\x93"sv);
  assign(Operation::kDiscard, "\x42"sv);    // UNMAP
  assign(Operation::kFlush, "\x35\x91"sv);  // SYNCHRONIZE CACHE
  return commands;
}();

namespace scsi_internal {

template <Operation operation>
inline constexpr std::array<char, 1024> kWords = [] {
  std::array<char, 1024> words{};
  std::size_t size = 0;
  const auto append = [&](std::size_t code, bool is_padded) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (size > 0) words[size++] = ',';
    if (is_padded || code >= 0x10) words[size++] = kDigits[code / 0x10];
    words[size++] = kDigits[code % 0x10];
  };
  for (std::size_t code = 0; code < kScsiCommands.size(); ++code) {
    if (kScsiCommands[code] != operation) continue;
    append(code, false);
    if (code < 0x10) append(code, true);
  }
  return words;
}();

}  // namespace scsi_internal

// The hexadecimal codes of an operation, separated by commas, as words of a column.
template <Operation operation>
inline constexpr const char* kScsiWords = scsi_internal::kWords<operation>.data();

}  // namespace mcsim
