#include "core/trace/formats/key_integers.hpp"

#include "core/base/registry.hpp"
#include "core/trace/formats/lcs.hpp"
#include "core/trace/formats/oracle_general.hpp"
#include "core/trace/formats/twr.hpp"
#include "core/trace/formats/vscsi.hpp"

namespace mcsim {
namespace {

// The format of records with several fields that the file has for certain; else "".
template <class... Formats>
std::string structured_format(const Head& head, TypeList<Formats...>) {
  for (const Guess& guess : {Formats::guess(head)...}) {
    if (guess.fit == Fit::kCertain) return guess.format;
  }
  return "";
}

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
  const std::string format =
      structured_format(head, TypeList<VscsiReader, LcsReader, OracleGeneralReader, TwrReader>{});
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
  if (integer_layout(head.bytes)) return {format, Fit::kPossible, ""};
  return {format, Fit::kNo,
          "width and byte order of the integers cannot be recognised: state them"};
}

}  // namespace mcsim
