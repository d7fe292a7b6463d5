#pragma once

#include <limits>

#include "core/trace/formats/key_units.hpp"
#include "core/trace/reading/record_reader.hpp"

namespace mcsim {

// Returns the error in the next access of a request, or "". Valid are the number of a later
// request, from 0 or 1, and the values for never. `number` is that of the request, from 1.
inline std::string objection_to_next_access(std::int64_t next, Count number) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kFarthest = std::int64_t{1} << 40;
  const bool is_later = next >= number && next < kFarthest;
  if (is_later || next == -1 || next == kNever) [[likely]]
    return "";
  return fmt::format("next access: expected the number of a later request or -1, got {}", next);
}

// libCacheSim's binary traces with next accesses. Records of 24 bytes, little-endian, without gaps:
//
//   uint32 time (s), uint64 object id, uint32 object size (bytes),
//   int64 next access (number of the request; -1 or 2^63 - 1 for never)
//
// Ids are keys of objects, unless `unit_bytes` makes them blocks with the size of the record. The
// next access is not used, because it depends on the block size. Every request is a read; records
// of size 0 are filtered, as in libCacheSim.
class OracleGeneralReader final : public RecordReader<OracleGeneralReader> {
 public:
  using Params = KeyParams;
  static constexpr ComponentInfo kInfo{"oracle-general",
                                       "libCacheSim binary: time (s), object id, size, next access",
                                       "Yang, Yue, Rashmi: segcache/libCacheSim, oracleGeneral"};

  OracleGeneralReader(const Params& params, ReaderContext context)
      : RecordReader(std::move(context)), units_(params) {}

  static Guess guess(const Head& head) {
    return guess_by_records<OracleGeneralReader>(head, Proof::kFields);
  }

  TimeBase time_base() const override { return TimeBase::kClock; }
  TraceKind kind() const override { return units_.kind(); }
  static RecordField id_field() { return {4, 'Q'}; }
  static RecordField next_field() { return {16, 'q'}; }

  absl::StatusOr<RecordLayout> begin(std::string_view) const {
    return RecordLayout{.record_bytes = 24};
  }

  LineKind parse(const char* record, RecordRequest& request) {
    const auto key = number_at<std::uint64_t>(record + 4);
    request.time = number_at<std::uint32_t>(record) * kSecond;
    request.length = number_at<std::uint32_t>(record + 12);
    const auto next = number_at<std::int64_t>(record + 16);
    if (std::string wrong = objection_to_next_access(next, number()); !wrong.empty()) [[unlikely]] {
      return bad(std::move(wrong));
    }
    if (!units_.fits(key, request.length)) [[unlikely]] {
      return bad(fmt::format("object id: block {} exceeds 64 bits", key));
    }
    request.offset = units_.offset_of(key);
    return request.length == 0 ? LineKind::kFiltered : LineKind::kRequest;
  }

 private:
  KeyUnits units_;
};

}  // namespace mcsim
