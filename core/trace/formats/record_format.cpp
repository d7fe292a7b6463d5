#include "core/trace/formats/record_format.hpp"

#include "core/trace/formats/libcachesim_operations.hpp"
#include "core/trace/formats/oracle_general.hpp"

namespace mcsim {
namespace {

std::string text_of(IntegerLayout layout) {
  return fmt::format("{} bits, {}-endian", layout.bytes * 8,
                     layout.order == ByteOrder::little ? "little" : "big");
}

IntegerLayout layout_of(const RecordFormat& format) {
  const RecordStruct record = *parse_record_struct(format.record);
  return {record.bytes, record.fields.front().is_big ? ByteOrder::big : ByteOrder::little};
}

// Returns the contradiction to a layout of integers, or "".
std::string objection_to_keys(const Head& head, IntegerLayout layout) {
  if (head.bytes.size() < layout.bytes) {
    return fmt::format("{} of {} bytes: the file is cut short", head.bytes.size(), layout.bytes);
  }
  if (is_text(head.bytes)) return "expected integers, got text";
  const std::string format = likely_record_format(head);
  if (!format.empty()) return fmt::format("expected integers, got records of {}", format);
  const auto found = integer_layout(head.bytes);
  if (found && *found != layout) {
    return fmt::format("expected integers of {}, these are of {}", text_of(layout),
                       text_of(*found));
  }
  return "";
}

}  // namespace

ObjectRecordReader::ObjectRecordReader(const RecordFormat& format, NoParams, ReaderContext context)
    : RecordReader(std::move(context)), format_(format) {
  const RecordStruct record = *parse_record_struct(format.record);
  record_bytes_ = record.bytes;
  const auto field = [&](std::size_t position) {
    return position == 0 ? RecordField{} : record.fields[position - 1];
  };
  const RecordPositions& at = format.fields;
  time_ = field(at.time);
  id_ = field(at.id);
  size_ = field(at.size);
  value_ = field(at.value);
  op_ = field(at.op);
  next_ = field(at.next);
}

Guess ObjectRecordReader::guess(const RecordFormat& format, const Head& head) {
  const char* const name = format.info.name;
  if (!format.is_strict() && format.fields.time == 0) {
    return {name, Fit::kNo, "any bytes could be its records: state the format"};
  }
  const Proof proof = format.is_strict() ? Proof::kFields : Proof::kRepeats;
  return guess_by_records(name, head, proof, [&](ReaderContext context) {
    return ObjectRecordReader(format, {}, std::move(context));
  });
}

absl::StatusOr<RecordLayout> ObjectRecordReader::begin(std::string_view head) const {
  // During format detection the file has no name, and all formats are compared anyway.
  if (!format_.is_strict() && !context_.name.empty()) {
    const std::string other =
        certain_record_format({.bytes = std::string(head), .whole = is_whole()});
    if (!other.empty()) {
      return refuse(
          fmt::format("record 1: expected records of {}, got {}", format_.info.name, other));
    }
  }
  return RecordLayout{.record_bytes = record_bytes_};
}

LineKind ObjectRecordReader::parse(const char* record, RecordRequest& request) {
  request.offset = id_.value(record);
  request.time = time_.is_given() ? static_cast<Nanoseconds>(time_.value(record)) * kSecond
                                  : static_cast<Nanoseconds>(number() - 1);
  std::uint64_t size = size_.value(record);
  if (size_.is_signed() && ~size >> 32 == 0) size &= kMaxLength;
  std::uint64_t value = size;
  if (format_.has_packed_sizes) {
    value = size & 0x3fffff;
    size = (size >> 22) + value;
  } else if (value_.is_given()) {
    value = value_.value(record);
    size += value;
  }
  if (size > kMaxLength) [[unlikely]] {
    return bad(fmt::format("size: expected 0 to {} bytes, got {}", kMaxLength, size));
  }
  request.length = static_cast<std::uint32_t>(size);
  if (op_.is_given() && !take_operation(record, request)) [[unlikely]]
    return LineKind::kBad;
  if (next_.is_given()) {
    std::string wrong =
        objection_to_next_access(static_cast<std::int64_t>(next_.value(record)), number());
    if (!wrong.empty()) [[unlikely]]
      return bad(std::move(wrong));
  }
  const bool is_empty = size == 0 && !format_.has_packed_sizes;
  const bool is_miss = value == 0 && request.op == Op::kRead;
  return is_empty || is_miss ? LineKind::kFiltered : LineKind::kRequest;
}

bool ObjectRecordReader::take_operation(const char* record, RecordRequest& request) {
  const std::uint64_t number = op_.value(record);
  const auto op = libcachesim_operation(number);
  const bool is_none = is_no_operation(number);
  if (is_none) count_unstated();
  if (format_.last_op > 0 && (!op || (number > format_.last_op && !is_none))) [[unlikely]] {
    bad(fmt::format("operation: expected 0 to {}, got {}", format_.last_op, number));
    return false;
  }
  if (!op) [[unlikely]] {
    bad(fmt::format("operation: there is no number {}", number));
    return false;
  }
  request.op = *op;
  return true;
}

KeyRecordReader::KeyRecordReader(const RecordFormat& format, const KeyParams& params,
                                 ReaderContext context)
    : RecordReader(std::move(context)),
      key_(parse_record_struct(format.record)->fields.front()),
      layout_(layout_of(format)),
      units_(params) {}

Guess KeyRecordReader::guess(const RecordFormat& format, const Head& head) {
  const char* const name = format.info.name;
  const IntegerLayout layout = layout_of(format);
  std::string wrong = objection_to_keys(head, layout);
  if (wrong.empty() && head.whole && head.bytes.size() % layout.bytes != 0) {
    wrong = fmt::format("{} bytes are not whole integers", head.bytes.size());
  }
  if (!wrong.empty()) return {name, Fit::kNo, wrong};
  if (integer_layout(head.bytes)) return {name, Fit::kIntegers, ""};
  return {name, Fit::kNo, "width and byte order of the integers cannot be recognised: state them"};
}

absl::StatusOr<RecordLayout> KeyRecordReader::begin(std::string_view head) const {
  const std::string wrong =
      objection_to_keys({.bytes = std::string(head), .whole = is_whole()}, layout_);
  if (!wrong.empty()) return refuse(fmt::format("record 1: {}", wrong));
  return RecordLayout{.record_bytes = layout_.bytes};
}

}  // namespace mcsim
