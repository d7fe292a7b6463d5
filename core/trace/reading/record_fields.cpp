#include "core/trace/reading/record_fields.hpp"

#include <bit>

#include <absl/strings/ascii.h>

#include "core/base/quoted_for_message.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kMostBytes = 4096;  // of a record

// Bytes of a type; 0: unknown.
std::size_t bytes_of(char type) {
  constexpr std::string_view kOne = "cbBx", kTwo = "hH", kFour = "iIlLf", kEight = "qQd";
  if (kOne.find(type) != std::string_view::npos) return 1;
  if (kTwo.find(type) != std::string_view::npos) return 2;
  if (kFour.find(type) != std::string_view::npos) return 4;
  return kEight.find(type) != std::string_view::npos ? 8 : 0;
}

}  // namespace

double RecordField::fraction(const char* record) const {
  const char* const from = record + at;
  if (type == 'f') {
    return std::bit_cast<float>(is_big ? number_at<std::uint32_t, ByteOrder::big>(from)
                                       : number_at<std::uint32_t>(from));
  }
  return std::bit_cast<double>(is_big ? number_at<std::uint64_t, ByteOrder::big>(from)
                                      : number_at<std::uint64_t>(from));
}

absl::StatusOr<RecordStruct> parse_record_struct(std::string_view format) {
  if (!format.starts_with('<') && !format.starts_with('>')) {
    return invalid_argument("expected < (little-endian) or > and types such as <IQI, got '{}'",
                            quoted_for_message(format));
  }
  RecordStruct record;
  std::size_t count = 0;
  bool has_count = false;
  for (std::size_t i = 1; i < format.size(); ++i) {
    const char type = format[i];
    if (absl::ascii_isdigit(type)) {
      count = count * 10 + static_cast<std::size_t>(type - '0');
      has_count = true;
    } else if (bytes_of(type) == 0) {
      return invalid_argument(
          "unknown type '{}' at position {}; there are b B h H i I l L q Q f d, c, and x for a "
          "byte to pass over",
          quoted_for_message(format.substr(i, 1)), i + 1);
    }
    if (count > kMostBytes) return invalid_argument("a record has at most {} bytes", kMostBytes);
    if (absl::ascii_isdigit(type)) continue;
    for (std::size_t k = has_count ? count : 1; k > 0; --k) {
      if (type != 'x') record.fields.push_back({record.bytes, type, format[0] == '>'});
      record.bytes += bytes_of(type);
    }
    count = 0;
    has_count = false;
  }
  if (has_count) return invalid_argument("no type behind the count at the end of '{}'", format);
  if (record.fields.empty()) return invalid_argument("there are no fields in '{}'", format);
  if (record.bytes > kMostBytes)
    return invalid_argument("a record has at most {} bytes", kMostBytes);
  return record;
}

}  // namespace mcsim
