#pragma once

#include "core/trace/formats/libcachesim_operations.hpp"
#include "core/trace/formats/oracle_general.hpp"
#include "core/trace/reading/record_fields.hpp"

namespace mcsim {

// libCacheSim's traces with a header, little-endian. There are two headers, which both begin and
// end with the same number.
//
//   8,192 bytes: uint64 version (1 to 8) at byte 8, int64 number of requests at byte 24.
//     1: uint32 time (s), uint64 object id, uint32 size, int64 next access
//     2: uint32 time, uint64 id, uint32 size, uint8 operation, uint24 tenant, int64 next access
//     3 to 8: uint32 time, uint64 id, int64 size, uint8 operation, uint24 tenant, uint32 time to
//       live, int64 next access, and 0, 1, 2, 4, 8 or 16 features of 32 bits
//   1,024 bytes, in 2024: at byte 8 the types of all fields as in Python's struct module, such as
//     "<IQIq"; at byte 248 the positions of the fields from 1; at byte 488 the number of requests
//
// Records of size 0 are filtered, as in libCacheSim.
class LcsReader final : public RecordReader<LcsReader> {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "lcs", "libCacheSim .lcs: a header, then time (s), object id, size, next access, operation",
      "Yang, Yue, Rashmi: libCacheSim, lcs versions 1 to 8"};

  LcsReader(Params, ReaderContext context) : RecordReader(std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_records<LcsReader>(head, Proof::kMagic); }

  TimeBase time_base() const override {
    return time_.is_given() ? TimeBase::kClock : TimeBase::kIndex;
  }
  bool has_lengths() const override { return size_.is_given(); }
  TraceKind kind() const override { return TraceKind::kObjects; }

  static bool has_magic(std::string_view head);
  absl::StatusOr<RecordLayout> begin(std::string_view head);
  LineKind parse(const char* record, RecordRequest& request);

 private:
  absl::StatusOr<RecordLayout> begin_version(std::string_view head);
  absl::StatusOr<RecordLayout> begin_described(std::string_view head);
  std::string objection_to_end() const override;

  RecordField time_;
  RecordField id_;
  RecordField size_;
  RecordField op_;
  RecordField next_;
  std::int64_t stated_records_ = 0;
};

}  // namespace mcsim
