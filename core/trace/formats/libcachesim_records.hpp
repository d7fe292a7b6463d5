#pragma once

#include "core/trace/record_reader.hpp"

namespace mcsim {

// Records of libCacheSim's other trace types: the struct as in Python's struct module, and the
// positions of fields in it, from 1; 0 if there is no such field.
struct LibCacheSimLayout {
  const char* record;
  std::uint8_t time;
  std::uint8_t id;
  std::uint8_t size;
  std::uint8_t value = 0;  // added to the size, if that is only the size of the key
  std::uint8_t op = 0;
  std::uint8_t next = 0;

  // Whether fields exclude most values.
  constexpr bool is_strict() const { return op > 0 || next > 0; }
};

// Times are in seconds. Records without times are numbered. Objects of size 0 and reads without a
// value are filtered, as in libCacheSim. A negative size means its lower 32 bits, unsigned.
class LibCacheSimReader : public RecordReader<LibCacheSimReader> {
 public:
  using Params = NoParams;

  LibCacheSimReader(const char* name, const LibCacheSimLayout& layout, ReaderContext context);

  TimeBase time_base() const override {
    return time_.is_given() ? TimeBase::kClock : TimeBase::kIndex;
  }
  TraceKind kind() const override { return TraceKind::kObjects; }
  RecordField id_field() const { return id_; }
  RecordField next_field() const { return next_; }

  absl::StatusOr<RecordLayout> begin(std::string_view head) const;
  LineKind parse(const char* record, RecordRequest& request);

 private:
  const char* name_;
  bool is_strict_;
  std::size_t record_bytes_;
  RecordField time_;
  RecordField id_;
  RecordField size_;
  RecordField value_;
  RecordField op_;
  RecordField next_;
};

// Returns the format of records with several fields that certainly fits the head, or "".
std::string certain_record_format(const Head& head);
// The same, but includes formats that only possibly fit.
std::string likely_record_format(const Head& head);

template <class Format>
class LibCacheSimFormat : public LibCacheSimReader {
 public:
  LibCacheSimFormat(Params, ReaderContext context)
      : LibCacheSimReader(Format::kInfo.name, Format::kLayout, std::move(context)) {}

  static Guess guess(const Head& head) {
    constexpr LibCacheSimLayout kLayout = Format::kLayout;
    if (!kLayout.is_strict() && kLayout.time == 0) {
      return {Format::kInfo.name, Fit::kNo, "any bytes could be its records: state the format"};
    }
    return guess_by_records<Format>(head, kLayout.is_strict() ? Proof::kFields : Proof::kRepeats);
  }
};

inline constexpr const char* kLibCacheSim = "Yang, Yue, Rashmi: libCacheSim, customizedReader";

class StandardIqiReader final : public LibCacheSimFormat<StandardIqiReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{.record = "<IQI", .time = 1, .id = 2, .size = 3};
  static constexpr ComponentInfo kInfo{
      "standard-iqi", "libCacheSim binary: time (s), object id, size (also its wiki19t)",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class StandardIqqReader final : public LibCacheSimFormat<StandardIqqReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{.record = "<IQQ", .time = 1, .id = 2, .size = 3};
  static constexpr ComponentInfo kInfo{
      "standard-iqq", "libCacheSim binary: time (s), object id, size of 64 bits", kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class StandardIiiReader final : public LibCacheSimFormat<StandardIiiReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{.record = "<III", .time = 1, .id = 2, .size = 3};
  static constexpr ComponentInfo kInfo{
      "standard-iii", "libCacheSim binary: time (s), object id of 32 bits, size", kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class StandardIqibhReader final : public LibCacheSimFormat<StandardIqibhReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQIBH", .time = 1, .id = 2, .size = 3, .op = 4};
  static constexpr ComponentInfo kInfo{
      "standard-iqibh", "libCacheSim binary: time (s), object id, size, operation, namespace",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class AkamaiReader final : public LibCacheSimFormat<AkamaiReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{.record = "<IQIHHH", .time = 1, .id = 2, .size = 3};
  static constexpr ComponentInfo kInfo{
      "akamai", "libCacheSim binary of Akamai: time (s), object id, size, tenant, bucket, type",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class Cf1Reader final : public LibCacheSimFormat<Cf1Reader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQQiII3H3B", .time = 1, .id = 2, .size = 3};
  static constexpr ComponentInfo kInfo{
      "cf1", "libCacheSim binary of a CDN: time (s), object id, size, and nine other fields",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class Wiki16uReader final : public LibCacheSimFormat<Wiki16uReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{.record = "<QIH", .time = 0, .id = 1, .size = 2};
  static constexpr ComponentInfo kInfo{
      "wiki16u", "libCacheSim binary of Wikipedia's uploads, 2016: object id, size, type",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class Wiki19uReader final : public LibCacheSimFormat<Wiki19uReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{.record = "<IQIH", .time = 1, .id = 2, .size = 3};
  static constexpr ComponentInfo kInfo{
      "wiki19u", "libCacheSim binary of Wikipedia's uploads, 2019: time (s), object id, size, type",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class OracleGeneralOpNsReader final : public LibCacheSimFormat<OracleGeneralOpNsReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQIBHq", .time = 1, .id = 2, .size = 3, .op = 4, .next = 6};
  static constexpr ComponentInfo kInfo{
      "oracle-general-op-ns",
      "libCacheSim binary: time (s), object id, size, operation, namespace, next access",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class OracleSysTwrNsReader final : public LibCacheSimFormat<OracleSysTwrNsReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQHIHHiq", .time = 1, .id = 2, .size = 3, .value = 4, .op = 5, .next = 8};
  static constexpr ComponentInfo kInfo{
      "oracle-sys-twr-ns",
      "libCacheSim binary of Twitter: time (s), object id, sizes, operation, next access",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class OracleAkamaiReader final : public LibCacheSimFormat<OracleAkamaiReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQI3hq", .time = 1, .id = 2, .size = 3, .next = 7};
  static constexpr ComponentInfo kInfo{
      "oracle-akamai", "libCacheSim binary of Akamai: time (s), object id, size, next access",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

// Differs from oracle-akamai only in unused fields.
class OracleSimTwrNsReader final : public LibCacheSimFormat<OracleSimTwrNsReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQIiHq", .time = 1, .id = 2, .size = 3, .next = 6};
  static constexpr ComponentInfo kInfo{
      "oracle-sim-twr-ns", "libCacheSim binary of Twitter: time (s), object id, size, next access",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;

  static Guess guess(const Head&) {
    return {kInfo.name, Fit::kNo, "the same fields as those of oracle-akamai"};
  }
};

class OracleCf1Reader final : public LibCacheSimFormat<OracleCf1Reader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQqiIIq3H3B", .time = 1, .id = 2, .size = 3, .next = 7};
  static constexpr ComponentInfo kInfo{
      "oracle-cf1", "libCacheSim binary of a CDN: as cf1, and the next access", kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class OracleWiki16uReader final : public LibCacheSimFormat<OracleWiki16uReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<QIHq", .time = 0, .id = 1, .size = 2, .next = 4};
  static constexpr ComponentInfo kInfo{
      "oracle-wiki16u", "libCacheSim binary of Wikipedia, 2016: as wiki16u, and the next access",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

class OracleWiki19uReader final : public LibCacheSimFormat<OracleWiki19uReader> {
 public:
  static constexpr LibCacheSimLayout kLayout{
      .record = "<IQIHq", .time = 1, .id = 2, .size = 3, .next = 5};
  static constexpr ComponentInfo kInfo{
      "oracle-wiki19u", "libCacheSim binary of Wikipedia, 2019: as wiki19u, and the next access",
      kLibCacheSim};
  using LibCacheSimFormat::LibCacheSimFormat;
};

}  // namespace mcsim
