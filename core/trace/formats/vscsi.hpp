#pragma once

#include "core/trace/formats/scsi_commands.hpp"
#include "core/trace/record_reader.hpp"

namespace mcsim {

// Traces of VMware's vscsiStats, versions 1 and 2. Records of 32 or 40 bytes, little-endian:
//
//   1: uint32 serial number, uint32 bytes, uint32 segments, uint16 command, uint16 version,
//      uint64 first sector (512 B), uint64 time (us)
//   2: uint16 command, uint16 version, uint32 serial number, uint32 bytes, uint32 segments,
//      uint64 first sector, uint64 time (us), uint64 response time in a unit that is not documented
//
// Response times are not used. The version is in the high byte. Commands that do not read, write or
// discard blocks are filtered, and so are those of vendors (0xC0 to 0xFF).
class VscsiReader final : public RecordReader<VscsiReader> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "vscsi", "VMware vscsiStats binary, versions 1 and 2: command, sector, bytes, time",
      "Waldspurger et al.: Efficient MRC Construction with SHARDS (FAST 2015); libCacheSim"};

  VscsiReader(Params, ReaderContext context) : RecordReader(std::move(context)) {}

  static Guess guess(const Head& head) {
    return guess_by_records<VscsiReader>(head, Proof::kMarks);
  }

  TimeBase time_base() const override { return TimeBase::kClock; }

  absl::StatusOr<RecordLayout> begin(std::string_view head) {
    // In version 2 these bytes belong to the number of segments, which is small.
    for (const Layout& layout : {kFirst, kSecond}) {
      if (head.size() < layout.record_bytes) break;
      layout_ = layout;
      if (version_of(head.data()) == layout.version) {
        return RecordLayout{.record_bytes = layout.record_bytes};
      }
    }
    return refuse("record 1: expected version 1 in bytes 15 and 16, or version 2 in 3 and 4");
  }

  LineKind parse(const char* record, RecordRequest& request) {
    const auto command = number_at<std::uint16_t>(record + layout_.command);
    const auto bytes = number_at<std::uint32_t>(record + layout_.bytes);
    const auto sector = number_at<std::uint64_t>(record + 16);
    const auto time = number_at<std::uint64_t>(record + 24);
    if (version_of(record) != layout_.version) [[unlikely]] {
      return bad(fmt::format("version: expected {}, got {}", layout_.version, version_of(record)));
    }
    if (command >= kScsiCommands.size() || !kScsiCommands[command]) [[unlikely]] {
      return bad(fmt::format("command: there is no SCSI command {:#x}", command));
    }
    const Operation meaning = *kScsiCommands[command];
    if (time > kLatest) [[unlikely]]
      return bad(fmt::format("time: {} us exceeds 64 bits", time));
    if (meaning == Operation::kFlush) return count_flush(), LineKind::kNothing;
    if (meaning == Operation::kIgnored) return LineKind::kFiltered;
    // The bytes of an UNMAP are those of its list of blocks.
    if (bytes % kSector != 0 && meaning != Operation::kDiscard) [[unlikely]] {
      return bad(fmt::format("bytes: expected whole sectors of 512 B, got {}", bytes));
    }
    if (sector > (kMaxOffset - bytes) / kSector) [[unlikely]] {
      return bad(fmt::format("sector: {} exceeds 64 bits", sector));
    }
    request = {.time = static_cast<Nanoseconds>(time) * kMicrosecond,
               .op = static_cast<Op>(meaning),
               .offset = sector * kSector,
               .length = bytes};
    return LineKind::kRequest;
  }

 private:
  // The positions of the fields that differ between versions.
  struct Layout {
    unsigned version;
    std::size_t record_bytes;
    std::size_t command;  // followed by the version
    std::size_t bytes;
  };
  static constexpr Layout kFirst{1, 32, 12, 4};
  static constexpr Layout kSecond{2, 40, 0, 8};
  static constexpr std::uint64_t kSector = 512;
  static constexpr Nanoseconds kMicrosecond = 1'000;
  static constexpr std::uint64_t kLatest = std::numeric_limits<Nanoseconds>::max() / kMicrosecond;

  unsigned version_of(const char* record) const {
    return number_at<std::uint16_t>(record + layout_.command + 2) >> 8;
  }

  Layout layout_ = kFirst;
};

}  // namespace mcsim
