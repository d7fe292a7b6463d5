#include "core/trace/formats/keys.hpp"

#include <limits>

namespace mcsim {

Guess KeysReader::guess(const Head& head) {
  const auto lines = first_lines(head);
  if (!lines.ok()) return {kInfo.name, Fit::kNo, message_of(lines.status())};
  auto context = reading(*lines);
  if (!context.ok()) return {kInfo.name, Fit::kNo, "", 0, context.status()};
  KeysReader reader({}, *std::move(context));
  const bool more = !head.whole || lines->size() < head.bytes.size();
  Guess guess = guess_by_trial(kInfo.name, Fit::kPossible, reader, more);
  // Words without delimiters may also be of another format.
  if (guess.fit == Fit::kPossible && reader.has_text_keys()) guess.fit = Fit::kUnopposed;
  return guess;
}

std::optional<std::uint64_t> KeysReader::number_of(std::string_view line) {
  if (line.front() == ' ' || line.back() == ' ' || line.back() == '\t') {
    line = without_blanks(line);
  }
  const bool is_negative = line.starts_with('-');
  const char* at = line.data() + (is_negative ? 1 : 0);
  const char* const end = line.data() + line.size();
  // Other texts of the same number, such as 007, are different keys.
  if (at == end || *at < '0' || *at > '9') return std::nullopt;
  if (*at == '0' && (is_negative || at + 1 != end)) return std::nullopt;
  std::uint64_t value = 0;
  if (!read_digits(at, value) || at != end) return std::nullopt;
  constexpr auto kMaxSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool is_large = !is_negative && value > kMaxSigned;
  if (is_negative && value > kMaxSigned + 1) return std::nullopt;
  if ((is_negative && has_large_) || (is_large && has_negative_)) return std::nullopt;
  has_negative_ |= is_negative;
  has_large_ |= is_large;
  return is_negative ? 0 - value : value;
}

LineKind KeysReader::parse_block(std::string_view line, Requests& out) {
  FieldScanner scan(line, ' ');
  const std::uint64_t unit = units_.unit();
  const std::uint64_t block = scan.number("a block number", 0, kMaxOffset / unit - 1);
  if (!scan.finish()) return bad(scan);
  return push(block * unit, static_cast<std::uint32_t>(unit), out);
}

std::optional<std::string_view> KeysReader::text_of(std::string_view line) {
  const std::string_view key = is_any_text_ ? line : without_blanks(line);
  const bool has_delimiter = key.find_first_of(" \t,;|\"{}") != std::string_view::npos;
  if (is_vm_name(key) && (is_any_text_ || (!has_delimiter && key.front() != '#'))) return key;
  complaint_.complain(fmt::format("expected a key (UTF-8 without control characters{}), got '{}'",
                                  is_any_text_ ? "" : "; text_keys allows blanks and delimiters",
                                  quoted_for_message(key)));
  return std::nullopt;
}

LineKind KeysReader::parse_text(std::string_view line, Requests& out) {
  const auto key = text_of(line);
  return key ? push(mention(*key), 0, out) : bad(complaint_);
}

LineKind KeysReader::parse_first_text(std::string_view line, Requests& out) {
  if (!text_of(line)) return bad(complaint_);
  if (static_cast<Count>(out.size()) != references_) {
    complaint_.complain(fmt::format(
        "expected a key of 64 bits, as those before, got '{}' (text_keys makes all of them text)",
        quoted_for_message(line)));
    return bad(complaint_);
  }
  for (std::uint64_t& key : out.offset) {
    key = mention(has_negative_ ? std::to_string(static_cast<std::int64_t>(key))
                                : std::to_string(key));
  }
  has_text_keys_ = true;
  return parse_text(line, out);
}

}  // namespace mcsim
