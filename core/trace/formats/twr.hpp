#pragma once

#include "core/trace/formats/libcachesim_operations.hpp"
#include "core/trace/record_reader.hpp"

namespace mcsim {

// Twitter's cache traces as packed by libCacheSim. Records of 20 bytes, little-endian:
//
//   uint32 time (s), uint64 object id, uint32 sizes (10 bits of key, 22 bits of value),
//   uint32 operation (8 bits) and time to live (24 bits)
//
// Records of 22 bytes end with a 16-bit namespace. The size of an object is that of its key and
// value. Reads without a value are filtered, as in libCacheSim.
template <class Format, std::size_t record_bytes>
class TwrRecords : public RecordReader<Format> {
 public:
  using Params = NoParams;

  TwrRecords(Params, ReaderContext context) : RecordReader<Format>(std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_records<Format>(head, Proof::kFields); }

  TimeBase time_base() const override { return TimeBase::kClock; }
  TraceKind kind() const override { return TraceKind::kObjects; }

  absl::StatusOr<RecordLayout> begin(std::string_view) const {
    return RecordLayout{.record_bytes = record_bytes};
  }

  LineKind parse(const char* record, RecordRequest& request) {
    const auto sizes = number_at<std::uint32_t>(record + 12);
    const auto operation = number_at<std::uint32_t>(record + 16) >> 24;
    const auto op = libcachesim_operation(operation);
    if (is_no_operation(operation)) this->count_unstated();
    if (!op || (operation > kLastOperation && !is_no_operation(operation))) [[unlikely]] {
      return this->bad(
          fmt::format("operation: expected 0 to {}, got {}", kLastOperation, operation));
    }
    const std::uint32_t value_bytes = sizes & 0x3fffff;
    request = {.time = number_at<std::uint32_t>(record) * kSecond,
               .op = *op,
               .offset = number_at<std::uint64_t>(record + 4),
               .length = (sizes >> 22) + value_bytes};
    return value_bytes == 0 && *op == Op::kRead ? LineKind::kFiltered : LineKind::kRequest;
  }

 private:
  static constexpr std::uint32_t kLastOperation = 11;  // decrement
};

inline constexpr const char* kTwitterTraces =
    "Yang, Yue, Rashmi: A Large Scale Analysis of Hundreds of In-memory Cache Clusters at "
    "Twitter (OSDI 2020)";

class TwrReader final : public TwrRecords<TwrReader, 20> {
 public:
  static constexpr ComponentInfo kInfo{
      "twr", "libCacheSim binary of Twitter: time (s), object id, sizes, operation",
      kTwitterTraces};
  using TwrRecords::TwrRecords;
};

class TwrNsReader final : public TwrRecords<TwrNsReader, 22> {
 public:
  static constexpr ComponentInfo kInfo{
      "twr-ns", "libCacheSim binary of Twitter: time (s), object id, sizes, operation, namespace",
      kTwitterTraces};
  using TwrRecords::TwrRecords;
};

}  // namespace mcsim
