#pragma once

#include <type_traits>
#include <utility>

#include "core/trace/formats/integer_layout.hpp"
#include "core/trace/formats/key_units.hpp"
#include "core/trace/reading/record_reader.hpp"

// Formats of binary records as data: record_formats.hpp has one RecordFormat for each.
namespace mcsim {

// The positions of fields in a record, from 1; 0 if there is no such field.
struct RecordPositions {
  std::uint8_t time = 0;
  std::uint8_t id = 0;
  std::uint8_t size = 0;
  std::uint8_t value = 0;  // added to the size, if that is only the size of the key
  std::uint8_t op = 0;
  std::uint8_t next = 0;
};

struct RecordFormat {
  ComponentInfo info;
  const char* record;  // the struct as in Python's struct module
  RecordPositions fields;
  bool has_packed_sizes = false;       // the size has 10 bits of the key and 22 bits of the value
  std::uint8_t last_op = 0;            // operations above it are unknown; 0: all are known
  const char* other_format = nullptr;  // why files are recognised as another format

  // Whether fields exclude most values.
  constexpr bool is_strict() const { return fields.op > 0 || fields.next > 0; }
  // Whether a record is a key only.
  constexpr bool is_key() const { return fields.size == 0; }
};

// Objects of libCacheSim. Times are in seconds. Records without times are numbered. Objects of size
// 0 and reads without a value are filtered, as in libCacheSim. A negative size means its lower 32
// bits, unsigned.
class ObjectRecordReader : public RecordReader<ObjectRecordReader> {
 public:
  ObjectRecordReader(const RecordFormat& format, NoParams, ReaderContext context);

  static Guess guess(const RecordFormat& format, const Head& head);

  TimeBase time_base() const override {
    return time_.is_given() ? TimeBase::kClock : TimeBase::kIndex;
  }
  TraceKind kind() const override { return TraceKind::kObjects; }
  RecordField id_field() const { return id_; }
  RecordField next_field() const { return next_; }

  absl::StatusOr<RecordLayout> begin(std::string_view head) const;
  LineKind parse(const char* record, RecordRequest& request);

 private:
  // Returns false if the operation is unknown.
  bool take_operation(const char* record, RecordRequest& request);

  const RecordFormat& format_;
  std::size_t record_bytes_;
  RecordField time_;
  RecordField id_;
  RecordField size_;
  RecordField value_;
  RecordField op_;
  RecordField next_;
};

// Files of integers only, each the key of a read: an object, or a block if `unit_bytes` is set. The
// time of a request is the number of requests before it. Negative integers are keys in two's
// complement.
class KeyRecordReader : public RecordReader<KeyRecordReader> {
 public:
  KeyRecordReader(const RecordFormat& format, const KeyParams& params, ReaderContext context);

  static Guess guess(const RecordFormat& format, const Head& head);

  TimeBase time_base() const override { return TimeBase::kIndex; }
  TraceKind kind() const override { return units_.kind(); }
  bool has_lengths() const override { return false; }

  absl::StatusOr<RecordLayout> begin(std::string_view head) const;

  LineKind parse(const char* record, RecordRequest& request) {
    const std::uint64_t key = key_.value(record);
    if (!units_.fits(key, units_.unit())) [[unlikely]] {
      return bad(fmt::format("block number {} exceeds 64 bits", key));
    }
    request.time = references_++;
    request.offset = units_.offset_of(key);
    request.length = static_cast<std::uint32_t>(units_.unit());
    return LineKind::kRequest;
  }

 private:
  RecordField key_;
  IntegerLayout layout_;
  KeyUnits units_;
  Count references_ = 0;
};

template <const RecordFormat& format>
class RecordFormatReader final
    : public std::conditional_t<format.is_key(), KeyRecordReader, ObjectRecordReader> {
  using Base = std::conditional_t<format.is_key(), KeyRecordReader, ObjectRecordReader>;

 public:
  using Params = std::conditional_t<format.is_key(), KeyParams, NoParams>;
  static constexpr ComponentInfo kInfo = format.info;
  static constexpr const RecordFormat& kFormat = format;

  RecordFormatReader(const Params& params, ReaderContext context)
      : Base(format, params, std::move(context)) {}

  static Guess guess(const Head& head) {
    if (format.other_format != nullptr) return {kInfo.name, Fit::kNo, format.other_format};
    return Base::guess(format, head);
  }
};

// Returns the format of records with several fields that certainly fits the head, or "".
std::string certain_record_format(const Head& head);
// Returns the format of records with several fields that certainly or else possibly fits, or "".
std::string likely_record_format(const Head& head);

}  // namespace mcsim
