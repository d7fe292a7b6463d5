#include "core/trace/reading/text.hpp"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "core/trace/reading/iso_time.hpp"

namespace mcsim {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint64_t>::max();

// "4096", "4096.0" or "0x1000".
bool read_whole(std::string_view field, std::uint64_t& value) {
  const char* at = field.data();
  const char* const end = at + field.size();
  if (field.empty()) return false;
  if (field.starts_with("0x") || field.starts_with("0X")) {
    const auto [after, error] = std::from_chars(at + 2, end, value, 16);
    return error == std::errc() && after == end;
  }
  if (!read_digits(at, value)) return false;
  if (at < end && *at == '.') at = std::find_if(at + 1, end, [](char c) { return c != '0'; });
  return at == end;
}

// "0.00028" for "2.8E-4". Text without a valid exponent stays as it is.
std::string without_exponent(std::string_view field) {
  constexpr int kMost = 30;
  const std::size_t e = field.find_first_of("eE");
  std::string digits(field.substr(0, e));
  if (e == std::string_view::npos) return digits;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  if (point < digits.size()) digits.erase(point, 1);
  const bool is_number = point > 0 && std::ranges::all_of(digits, absl::ascii_isdigit);
  std::string_view power = field.substr(e + 1);
  const bool has_plus = power.starts_with('+');
  if (has_plus) power.remove_prefix(1);
  int exponent = 0;
  const char* const end = power.data() + power.size();
  const auto [after, error] = std::from_chars(power.data(), end, exponent);
  if (!is_number || error != std::errc() || after != end || std::abs(exponent) > kMost ||
      (has_plus && power.starts_with('-'))) {
    return std::string(field);
  }
  std::ptrdiff_t before = static_cast<std::ptrdiff_t>(point) + exponent;
  for (; before < 1; ++before) digits.insert(0, 1, '0');
  const auto whole = static_cast<std::size_t>(before);
  digits.resize(std::max(digits.size(), whole), '0');
  return digits.insert(whole, 1, '.');
}

}  // namespace

namespace digits_internal {

bool read_many_digits(const char*& at, std::uint64_t& value) {
  std::uint64_t sum = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    const auto digit = static_cast<std::uint64_t>(*at - '0');
    if (sum > (kMaxNumber - digit) / 10) return false;
    sum = sum * 10 + digit;
  }
  value = sum;
  return true;
}

}  // namespace digits_internal

bool LineReader::refill() {
  const auto left = static_cast<std::size_t>(end_ - at_);
  // The last byte may be a carriage return.
  if (left > kLongestLine + 1) return refuse_long_line();
  if (source_ended_ || !status_.ok()) return false;
  std::memmove(buffer_.data(), at_, left);
  const auto got = source_->read_some({buffer_.data() + left, kBuffer - left - 1});
  if (!got.ok()) {
    status_ = got.status();
    return false;
  }
  at_ = buffer_.data();
  char* end = buffer_.data() + left + *got;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // optional in UTF-8 files
  if (!began_ && std::string_view(at_, *got).starts_with(kByteOrderMark)) {
    at_ += kByteOrderMark.size();
  }
  began_ = true;
  source_ended_ = *got == 0;
  if (source_ended_ && left > 0) *end++ = '\n';
  std::memset(end, 0, kPadding);
  end_ = end;
  return end_ != at_;
}

bool LineReader::refuse_long_line() {
  status_ =
      data_loss("{}:{}: longer than {} bytes: not a text trace", name_, number_ + 1, kLongestLine);
  return false;
}

std::uint64_t FieldScanner::number_slowly(const char* what, std::uint64_t min, std::uint64_t max) {
  const std::string_view field = without_blanks(text(what));
  std::uint64_t value = 0;
  if (!failed() && read_whole(field, value) && value >= min && value <= max) return value;
  const std::string bounds = max == kMaxNumber && min == 0
                                 ? std::string("a whole number")
                                 : fmt::format("a whole number from {} to {}", min, max);
  complain_of(fmt::format("{} ({})", what, bounds), field);
  return 0;
}

std::string_view FieldScanner::text_slowly(const char* what) {
  if (at_end()) {
    complain(fmt::format("expected {} in {}, but the line has {} column{}", what,
                         column_text(column_ + 1), column_, column_ == 1 ? "" : "s"));
    return {};
  }
  if (delimiter_ == kNoDelimiter) {
    const std::string_view field(at_, static_cast<std::size_t>(end_ - at_));
    advance(end_);
    return field;
  }
  while (at_ < end_ && *at_ == ' ' && delimiter_ != ' ') ++at_;
  if (at_ == end_ || *at_ != '"') {
    const char* after = std::find_if(at_, end_, [this](char c) { return is_delimiter(c); });
    const char* last = after;
    while (last > at_ && last[-1] == ' ') --last;
    const std::string_view field(at_, static_cast<std::size_t>(last - at_));
    advance(after);
    return field;
  }
  return quoted_text();
}

std::string_view FieldScanner::quoted_text() {
  const char* begin = at_ + 1;
  const char* close = std::find(begin, end_, '"');
  bool is_doubled = false;
  for (; close + 1 < end_ && close[1] == '"'; close = std::find(begin, end_, '"')) {
    if (!std::exchange(is_doubled, true)) unquoted_.clear();
    unquoted_.append(begin, close + 1);
    begin = close + 2;
  }
  if (close == end_ || !at_boundary(close + 1)) {
    complain(fmt::format("column {}: the quote that begins '{}' does not end with the column",
                         column_ + 1,
                         quoted_for_message({at_, static_cast<std::size_t>(end_ - at_)})));
    at_ = end_ + 1;
    return {};
  }
  if (is_doubled) unquoted_.append(begin, close);
  advance(close + 1);
  if (is_doubled) return unquoted_;
  return {begin, static_cast<std::size_t>(close - begin)};
}

Nanoseconds FieldScanner::time_slowly(const char* what, Nanoseconds unit) {
  const std::string_view field = without_blanks(text(what));
  const bool negative = field.starts_with('-');
  std::string plain = without_exponent(field.substr(negative ? 1 : 0));
  const std::size_t size = plain.size();
  plain.append(LineReader::kPadding, '\0');
  const char* at = plain.data();
  const char* const end = at + size;
  std::uint64_t whole = 0;
  bool read = at < end && read_digits(at, whole);
  Nanoseconds below_one = 0;
  if (read && at < end && *at == '.') {
    // `unit` is a power of ten, so every digit is a whole number of nanoseconds until it is below
    // one.
    Nanoseconds worth = unit;
    for (++at; at < end && *at >= '0' && *at <= '9'; ++at) {
      worth /= 10;
      below_one += worth * (*at - '0');
    }
  }
  const Nanoseconds limit = (std::numeric_limits<Nanoseconds>::max() - below_one) / unit;
  read = read && at == end && whole <= static_cast<std::uint64_t>(limit);
  if (!read) {
    complain_of(what, field);
    return 0;
  }
  const Nanoseconds sum = static_cast<Nanoseconds>(whole) * unit + below_one;
  return negative ? -sum : sum;
}

Nanoseconds FieldScanner::iso_time(const char* what) {
  const std::string_view field = without_blanks(text(what));
  const std::optional<Nanoseconds> time = parse_iso_time(field);
  if (!time) complain_of(std::string(what) + " (such as 2016-02-22 19:00:00.5)", field);
  return time.value_or(0);
}

bool is_text(std::string_view bytes) {
  const auto is_within = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; };
  const std::size_t longest = std::min<std::size_t>(bytes.size(), 3);
  for (std::size_t cut = 0; cut < longest && static_cast<signed char>(bytes.back()) < 0; ++cut) {
    const bool is_begin = !is_within(bytes.back());
    bytes.remove_suffix(1);
    if (is_begin) break;
  }
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of("\n\r\t"), bytes.size());
    if (end > 0 && !is_vm_name(bytes.substr(0, end))) return false;
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return true;
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view vm_name(FieldScanner& scan, const char* what) {
  const std::string_view name = scan.text(what);
  check_vm_name(scan, what, name);
  return name;
}

void check_vm_name(FieldScanner& scan, const char* what, std::string_view name) {
  if (scan.failed() || is_vm_name(name)) return;
  scan.complain_of(fmt::format("{} (UTF-8 without control characters)", what), name);
}

void append_vm_part(std::string& name, std::string_view part) {
  if (name.empty()) {
    name = part;
    return;
  }
  name += '_';
  for (const char c : part) {
    if (c == '_' || c == '%') {
      name += c == '_' ? "%5F" : "%25";
    } else {
      name += c;
    }
  }
}

std::uint64_t take_key(FieldScanner& scan, RequestReader& reader) {
  const std::string_view key = scan.text("a key");
  if (scan.failed()) return 0;
  if (is_vm_name(key)) return reader.mention(key);
  scan.complain_of("a key (UTF-8 without control characters)", key);
  return 0;
}

Nanoseconds filetime(FieldScanner& scan) {
  constexpr std::uint64_t kUnixEpoch = 116'444'736'000'000'000;
  constexpr std::uint64_t kLatest =
      kUnixEpoch + std::numeric_limits<Nanoseconds>::max() / kFiletimeTick;
  const std::uint64_t ticks = scan.number("a Windows filetime", kUnixEpoch, kLatest);
  if (scan.failed()) return 0;
  return static_cast<Nanoseconds>(ticks - kUnixEpoch) * kFiletimeTick;
}

absl::StatusOr<std::string> first_lines(const Head& head) {
  constexpr std::size_t kLines = 64;
  std::size_t size = 0;
  for (std::size_t lines = 0; lines < kLines; ++lines) {
    const std::size_t newline = head.bytes.find('\n', size);
    if (newline == std::string::npos) break;
    size = newline + 1;
  }
  if (head.whole && head.bytes.find('\n', size) == std::string::npos) size = head.bytes.size();
  if (size == 0) return data_loss("line 1 does not end");
  return head.bytes.substr(0, size);
}

absl::StatusOr<ReaderContext> reading(std::string lines) {
  MCSIM_ASSIGN_OR_RETURN(auto source, open_bytes(std::move(lines), ""));
  // Unsorted times do not count against a format.
  return ReaderContext{
      .source = std::move(source), .name = "", .vm_name = "", .on_unsorted = OnUnsorted::kKeep};
}

void FieldScanner::complain_of(std::string_view what, std::string_view got) {
  complain(fmt::format("expected {} in {}, got '{}'", what, column_text(column_),
                       quoted_for_message(got)));
}

std::string FieldScanner::column_text(int column) const {
  const auto at = static_cast<std::size_t>(column - 1);
  if (names_ == nullptr || column < 1 || at >= names_->size()) {
    return fmt::format("column {}", column);
  }
  return fmt::format("column {} ({})", column, quoted_for_message((*names_)[at]));
}

std::string_view FieldScanner::peek() {
  const char* const at = at_;
  const int column = column_;
  const bool had_failed = failed();
  const std::string_view field = text("a column");
  at_ = at;
  column_ = column;
  if (!had_failed) complaint_.clear();
  return field;
}

void FieldScanner::complain_of_rest() {
  if (failed()) return;
  const int expected = column_;
  while (!at_end() && !failed()) text("");
  complain(
      fmt::format("expected {} column{}, got {}", expected, expected == 1 ? "" : "s", column_));
}

}  // namespace mcsim
