#include "core/trace/formats/binary.hpp"

#include "core/trace/reading/number_text.hpp"

namespace mcsim {

absl::StatusOr<RecordLayout> BinaryReader::begin(std::string_view head) {
  const auto refused = [&](const absl::Status& why) {
    return absl::Status(why.code(), message_of(refuse(message_of(why))));
  };
  auto record = parse_record_struct(struct_);
  if (!record.ok()) return refused(invalid_argument("record: {}", message_of(record.status())));
  const std::size_t count = record->fields.size();
  const absl::Status bound = mapper_.bind(std::vector<std::string>(count), false);
  if (!bound.ok()) return refused(bound);
  for (std::size_t i = 0; i < count; ++i) {
    if (!mapper_.uses(i)) continue;
    if (mapper_.is_key(i) && record->fields[i].is_fraction()) {
      return refused(invalid_argument("key: column {} is a fraction, expected an integer", i + 1));
    }
    columns_.push_back({record->fields[i], i});
  }
  if (mapper_.mapping().key.find('+') != std::string::npos) {
    return refused(invalid_argument("key: state one column: keys are numbers"));
  }
  if (is_whole() && head.size() <= skip_bytes_) {
    return refuse(fmt::format("header: {} of {} bytes, and no record", head.size(), skip_bytes_));
  }
  return RecordLayout{.record_bytes = record->bytes, .header_bytes = skip_bytes_};
}

LineKind BinaryReader::parse(const char* record, Requests& out) {
  FieldScanner scan;
  mapper_.begin_row();
  for (const Column& column : columns_) {
    const RecordField& field = column.field;
    const bool is_taken =
        !field.is_fraction() &&
        mapper_.take_integer(column.number, field.value(record), field.is_signed());
    if (!is_taken) take_text(column, record, scan);
  }
  return finish_row(scan, out);
}

void BinaryReader::take_text(const Column& column, const char* record, FieldScanner& scan) {
  const RecordField& field = column.field;
  const std::string_view text =
      field.is_fraction() ? padded_text(field.fraction(record), text_)
      : field.is_signed() ? padded_text(static_cast<std::int64_t>(field.value(record)), text_)
                          : padded_text(field.value(record), text_);
  scan.next_field(text, column.number);
  mapper_.take(column.number, scan);
}

}  // namespace mcsim
