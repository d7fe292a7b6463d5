#include "core/trace/formats/key_integers.hpp"

#include "core/trace/formats/libcachesim_records.hpp"

namespace mcsim {
namespace {

std::string text_of(IntegerLayout layout) {
  return fmt::format("{} bits, {}-endian", layout.bytes * 8,
                     layout.order == ByteOrder::little ? "little" : "big");
}

}  // namespace

std::string KeyIntegers::objection(const Head& head, IntegerLayout layout) {
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

Guess KeyIntegers::guess(const char* format, const Head& head, IntegerLayout layout) {
  std::string wrong = objection(head, layout);
  if (wrong.empty() && head.whole && head.bytes.size() % layout.bytes != 0) {
    wrong = fmt::format("{} bytes are not whole integers", head.bytes.size());
  }
  if (!wrong.empty()) return {format, Fit::kNo, wrong};
  if (integer_layout(head.bytes)) return {format, Fit::kIntegers, ""};
  return {format, Fit::kNo,
          "width and byte order of the integers cannot be recognised: state them"};
}

}  // namespace mcsim
