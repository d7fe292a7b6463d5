#include "core/trace/formats/lcs.hpp"

#include <array>

namespace mcsim {
namespace {

constexpr std::uint64_t kMagic = 0x123456789abcdef0;

}  // namespace

bool LcsReader::has_magic(std::string_view head) {
  return head.size() >= 16 && number_at<std::uint64_t>(head.data()) == kMagic;
}

absl::StatusOr<RecordLayout> LcsReader::begin(std::string_view head) {
  if (!has_magic(head)) {
    return refuse("header: expected the number 0x123456789abcdef0 in bytes 1 to 8");
  }
  auto layout = head[8] == '<' ? begin_described(head) : begin_version(head);
  if (!layout.ok()) return layout;
  if (head.size() < layout->header_bytes) {
    return refuse(fmt::format("header: {} of {} bytes: the file is cut short", head.size(),
                              layout->header_bytes));
  }
  if (number_at<std::uint64_t>(head.data() + layout->header_bytes - 8) != kMagic) {
    return refuse(fmt::format("header: expected the number 0x123456789abcdef0 in bytes {} to {}",
                              layout->header_bytes - 7, layout->header_bytes));
  }
  stated_records_ = number_at<std::int64_t>(head.data() + (head[8] == '<' ? 488 : 24));
  if (stated_records_ < 0) {
    return refuse(fmt::format("header: {} requests are impossible", stated_records_));
  }
  return layout;
}

absl::StatusOr<RecordLayout> LcsReader::begin_version(std::string_view head) {
  static constexpr std::array<std::size_t, 9> kRecordBytes{0, 24, 28, 36, 40, 44, 52, 68, 100};
  const auto version = number_at<std::uint64_t>(head.data() + 8);
  if (version == 0 || version >= kRecordBytes.size()) {
    return refuse(fmt::format("header: expected a version from 1 to 8, got {}", version));
  }
  time_ = {0, 'I'};
  id_ = {4, 'Q'};
  size_ = {12, version < 3 ? 'I' : 'q'};
  if (version == 1) next_ = {16, 'q'};
  if (version == 2) op_ = {16, 'B'}, next_ = {20, 'q'};
  if (version > 2) op_ = {20, 'B'}, next_ = {28, 'q'};
  return RecordLayout{.record_bytes = kRecordBytes[version], .header_bytes = 8192};
}

absl::StatusOr<RecordLayout> LcsReader::begin_described(std::string_view head) {
  constexpr std::size_t kHeader = 1024, kTypes = 8, kMostTypes = 240, kPositions = 248;
  RecordLayout layout{.header_bytes = kHeader};
  if (head.size() < kHeader) return layout;  // the caller reports this error
  const std::string_view types = head.substr(kTypes, kMostTypes);
  auto record = parse_record_struct(types.substr(0, types.find('\0')));
  if (!record.ok()) return refuse(fmt::format("header: {}", message_of(record.status())));
  layout.record_bytes = record->bytes;
  std::vector<RecordField>& fields = record->fields;
  fields.insert(fields.begin(), RecordField{});  // position 0: no field
  const auto position = [&](std::size_t which) {
    return static_cast<std::size_t>(static_cast<unsigned char>(head[kPositions + which]));
  };
  const auto stated_fields = number_at<std::uint32_t>(head.data() + 1000);
  const auto stated_bytes = number_at<std::uint32_t>(head.data() + 1004);
  if (stated_fields != fields.size() - 1 || stated_bytes != layout.record_bytes) {
    return refuse(fmt::format("header: {} fields of {} bytes, expected {} of {} from their types",
                              stated_fields, stated_bytes, fields.size() - 1, layout.record_bytes));
  }
  const std::array<std::pair<RecordField*, std::size_t>, 5> wanted{
      {{&id_, 0}, {&size_, 1}, {&time_, 2}, {&next_, 4}, {&op_, 5}}};
  for (const auto& [field, which] : wanted) {
    if (position(which) >= fields.size()) {
      return refuse(
          fmt::format("header: there is no field {} among {}", position(which), fields.size() - 1));
    }
    *field = fields[position(which)];
    if (field->is_fraction()) {
      return refuse(
          fmt::format("header: field {} is a fraction, expected an integer", position(which)));
    }
  }
  if (!id_.is_given()) return refuse("header: no field is the object id");
  return layout;
}

LineKind LcsReader::parse(const char* record, RecordRequest& request) {
  request.offset = id_.value(record);
  request.time = number() - 1;
  if (time_.is_given()) {
    const auto seconds = static_cast<std::int64_t>(time_.value(record));
    constexpr std::int64_t kLatest = std::numeric_limits<Nanoseconds>::max() / kSecond;
    if (seconds < 0 || seconds > kLatest) [[unlikely]] {
      return bad(fmt::format("time: expected 0 to {} s, got {}", kLatest, seconds));
    }
    request.time = seconds * kSecond;
  }
  if (size_.is_given()) {
    const auto size = static_cast<std::int64_t>(size_.value(record));
    if (size < 0 || size > static_cast<std::int64_t>(kMaxLength)) [[unlikely]] {
      return bad(fmt::format("size: expected 0 to {} bytes, got {}", kMaxLength, size));
    }
    request.length = static_cast<std::uint32_t>(size);
  }
  if (op_.is_given()) {
    const std::uint64_t number = op_.value(record);
    const auto op = libcachesim_operation(number);
    if (!op) [[unlikely]]
      return bad(fmt::format("operation: there is no number {}", number));
    request.op = *op;
  }
  if (next_.is_given()) {
    const auto next = static_cast<std::int64_t>(next_.value(record));
    std::string wrong = objection_to_next_access(next, number());
    if (!wrong.empty()) [[unlikely]]
      return bad(std::move(wrong));
  }
  return size_.is_given() && request.length == 0 ? LineKind::kFiltered : LineKind::kRequest;
}

std::string LcsReader::objection_to_end() const {
  if (stated_records_ == 0 || stated_records_ == number()) return "";
  return fmt::format("the file ends here, but its header counts {} requests", stated_records_);
}

}  // namespace mcsim
