#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/trace/reader.hpp"

namespace mcsim {

// libCacheSim's binary traces with the future in them. Records of 24 bytes,
// little-endian, without gaps:
//
//   uint32 time (s), uint64 object id, uint32 object size (bytes),
//   int64 next access (number of the request; -1 or 2^63 - 1 for never)
//
// An object is taken for one unit at id * unit_bytes, because an id is a name
// and no address. `ignore_size` off gives it its own size, which is right where
// the ids were made from block numbers. The next access is not used: what comes
// next depends on the block size. Every request is a read.
class OracleGeneralReader final : public RequestReader {
 public:
  struct Params {
    Count unit_bytes = 4096;
    bool ignore_size = true;
    static constexpr auto fields() {
      return std::tuple{
          Field{"unit_bytes", &Params::unit_bytes, "bytes from one object id to the next", 1,
                1 << 30},
          Field{"ignore_size", &Params::ignore_size, "every object is one unit, whatever its size"},
      };
    }
  };
  static constexpr ComponentInfo kInfo{"oracle-general",
                                       "libCacheSim binary: time (s), object id, size, next access",
                                       "Yang, Yue, Rashmi: segcache/libCacheSim, oracleGeneral"};

  OracleGeneralReader(Params params, ReaderContext context)
      : RequestReader(std::move(context), RecordUnit::kRecord),
        unit_(static_cast<std::uint64_t>(params.unit_bytes)),
        ignore_size_(params.ignore_size) {
    name_the_only_vm();
  }

  static Guess guess(const Head& head) {
    const std::size_t records = head.bytes.size() / kRecordBytes;
    std::uint32_t last_time = 0;
    for (std::size_t i = 0; i < records; ++i) {
      const Record record = record_at(head.bytes.data() + i * kRecordBytes);
      // Text, taken for a record, has its next access in some 10^17 requests.
      constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
      constexpr std::int64_t kFarthest = std::int64_t{1} << 48;
      const bool is_future = record.next > static_cast<std::int64_t>(i) && record.next < kFarthest;
      const bool is_plausible_next = is_future || record.next == -1 || record.next == kNever;
      if (record.time < last_time || record.size == 0 || !is_plausible_next) {
        return {kInfo.name, Fit::kNo, fmt::format("record {} makes no sense", i + 1)};
      }
      last_time = record.time;
    }
    if (records == 0) return {kInfo.name, Fit::kNo, "no whole record of 24 bytes"};
    return {kInfo.name, Fit::kPossible, ""};
  }

  TimeBase time_base() const override { return TimeBase::kClock; }
  bool has_lengths() const override { return !ignore_size_; }

 private:
  static constexpr std::size_t kRecordBytes = 24;

  struct Record {
    std::uint32_t time;
    std::uint64_t id;
    std::uint32_t size;
    std::int64_t next;
  };

  template <class T>
  static T little_endian(const char* at) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), at, sizeof(T));
    if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
    return std::bit_cast<T>(bytes);
  }

  static Record record_at(const char* at) {
    return {little_endian<std::uint32_t>(at), little_endian<std::uint64_t>(at + 4),
            little_endian<std::uint32_t>(at + 12), little_endian<std::int64_t>(at + 16)};
  }

  absl::Status fill(Requests& chunk) override {
    constexpr std::size_t kRecords = 4096;
    std::array<char, kRecords * kRecordBytes> buffer;
    while (chunk.size() + kRecords <= kChunk) {
      MCSIM_ASSIGN_OR_RETURN(const std::size_t got, context_.source->read(buffer));
      for (std::size_t at = 0; at + kRecordBytes <= got; at += kRecordBytes) {
        MCSIM_RETURN_IF_ERROR(take(record_at(buffer.data() + at), chunk));
      }
      if (const std::size_t rest = got % kRecordBytes; rest != 0) {
        return reject(number_ + 1,
                      fmt::format("{} of {} bytes: the file is cut short", rest, kRecordBytes));
      }
      if (got < buffer.size()) break;
    }
    return absl::OkStatus();
  }

  absl::Status take(const Record& record, Requests& chunk) {
    ++number_;
    const std::uint64_t length = ignore_size_ ? unit_ : record.size;
    if (record.id > (kMaxOffset - length) / unit_) {
      return reject(number_, fmt::format("object {} * unit_bytes exceeds 64 bits (unit_bytes: 1 "
                                         "and blocks of 1 byte keep any id but the last)",
                                         record.id));
    }
    chunk.push(static_cast<Nanoseconds>(record.time) * kSecond, 0, Op::kRead, record.id * unit_,
               static_cast<std::uint32_t>(length));
    return check_order(number_, chunk.time.back());
  }

  std::uint64_t unit_;
  bool ignore_size_;
  Count number_ = 0;
};

}  // namespace mcsim
